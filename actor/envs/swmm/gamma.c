/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* stormwater:gamma: eleven ponds in a tree drain through an orifice each. None may flood, no orifice may
 * pass more than 4 cubic feet a second, and at the end all ponds are to be empty.
 *
 * Scenario gamma of pystorms ("pystorms: A simulation sandbox for the development and evaluation of
 * stormwater control algorithms", Rimer et al., Environmental Modelling & Software 2023), on the engine that
 * it runs on. The network is read from that Python package: twenty catchments, Green-Ampt infiltration, the
 * ponds, orifices and conduits, step sizes, 156 hours and the storm, which falls in six hours. Eleven depths
 * are the states, eleven openings the actions, and its measure is ours. Other storms scale the storm's
 * entries hour by hour, to 0.25 to 1 times its rain: with all of it small ponds flood under each
 * opening that was tried, the same for all ponds, and under the rules.
 *
 * A step is 15 minutes, 624 of them the 156 hours. Observed beside the depths (ft), unless Forecast=no: the
 * rain of the next hour and of the one after (in). The reward of a step is the sum over SWMM's own steps in
 * it, up to a minute each, of
 *
 *     -(sum of max(0, flow - 4 cfs)) - FloodWeight (number of ponds that flood)
 *
 * and at the end, for each pond deeper than 0.1 ft, -LeftWeight; so that with FloodWeight=1e6 and
 * LeftWeight=7e5, the defaults, a return is the published performance with a minus sign.
 *
 * The rules: a pond that is at least as full as the mean of all releases 4 cfs, by Torricelli, and a less
 * full one in proportion (equal filling degree). A pond that is fuller than 0.7 opens. Of 0.1, 0.3, ...,
 * 0.9 that is the largest limit with which ponds flood least in the storm's hours times 0.4, 0.6, 0.8 and
 * 1. */
#include <math.h>

#include "actor/envs/swmm/tasks.h"

#define FLOW_THRESHOLD 4.0
#define DEPTH_LEFT     0.1
#define GRAVITY        32.2
#define DISCHARGE      0.65 /* of an orifice of 1 ft2 */
#define FULL           0.7

enum { N_PONDS = 11, N_ENTRIES = 74 };

/* What a pond holds before it floods, ft. */
static const double depth_max[N_PONDS] = { 10, 10, 10, 10, 10, 20, 10, 10, 10, 13.72, 14.96 };

static void gamma_observe(const View *v, float ret[N_OBSERVATION_MAX]) {
        for (int i = 0; i < N_PONDS; i++)
                ret[i] = (float) v->now.depth[i];
        ret[N_PONDS] = (float) storm_rain(&v->storm, v->hour);
        ret[N_PONDS + 1] = (float) storm_rain(&v->storm, v->hour + 1);
}

static double gamma_reward(const View *v) {
        double cost = 0;

        for (int i = 0; i < N_PONDS; i++) {
                cost += fmax(v->now.flow[i] - FLOW_THRESHOLD, 0);
                cost += v->now.flood[i] > 0 ? v->flood_weight : 0;
                cost += v->last && v->now.depth[i] > DEPTH_LEFT ? v->left_weight : 0;
        }
        return -cost;
}

static void gamma_rules(const View *v, float ret_openings[N_VALVES_MAX]) {
        double mean = 0;

        for (int i = 0; i < N_PONDS; i++)
                mean += v->now.depth[i] / depth_max[i] / N_PONDS;
        for (int i = 0; i < N_PONDS; i++) {
                double depth = v->now.depth[i], full = depth / depth_max[i];
                double most = DISCHARGE * sqrt(2 * GRAVITY * depth);

                ret_openings[i] = 1;
                if (full > 0 && full <= FULL)
                        ret_openings[i] = (float) fmin(fmin(full / mean, 1) * FLOW_THRESHOLD / most, 1);
        }
}

const Task gamma_task = {
        .name = "stormwater:gamma",
        .drainage = { .package = "pystorms",
                        .version = "1.0.0",
                        .file = "pystorms/networks/gamma.inp",
                        .n_entries = N_ENTRIES },
        .names = { .nodes = { "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11" },
                        .links = { "O1", "O2", "O3", "O4", "O5", "O6", "O7", "O8", "O9", "O10", "O11" } },
        /* in/h */
        .family = { { 0.163065, 0.272896, 1.900425, 0.953069, 0.26599, 0.181178, 0.013374 }, 0.25, 1 },
        .n_steps = 624,
        .n_valves = N_PONDS,
        .n_options = N_GAMMA_OPTIONS,
        .opening = 1,
        .n_published = 11,
        .n_observation = 13,
        .observe = gamma_observe,
        .reward = gamma_reward,
        .rules = gamma_rules,
};
