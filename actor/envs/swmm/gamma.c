/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* stormwater:gamma: eleven ponds form a tree, and each drains through an orifice. No pond may flood, no
 * orifice may pass more than 4 cubic feet a second, and at the end all ponds should be empty.
 *
 * Scenario gamma of pystorms ("pystorms: A simulation sandbox for the development and evaluation of
 * stormwater control algorithms", Rimer et al., Environmental Modelling & Software 2023), on the same
 * engine, EPA SWMM. The Python package of pystorms has the network: twenty catchments, Green-Ampt
 * infiltration, ponds, orifices, conduits, step sizes, 156 hours, and a storm of six hours. The states are
 * the eleven depths, and the actions are the eleven openings. The performance is measured as in pystorms.
 * Other storms scale the entries of this storm hour by hour, to 0.25 to 1 times its rain. With the full
 * rain, small ponds flood under the rules, and also with every constant opening (the same for all ponds)
 * that was tried.
 *
 * A step is 15 minutes, and 624 steps are the 156 hours. The observation is the depths (ft) and, unless
 * Forecast=no, the rain of each of the next two hours (in). SWMM's own steps are at most a minute long. The
 * reward of a step is the sum over SWMM's steps in it of
 *
 *     -(sum of max(0, flow - 4 cfs)) - FloodWeight (number of ponds that flood)
 *
 * At the end, each pond deeper than 0.1 ft adds -LeftWeight. With the defaults FloodWeight=1e6 and
 * LeftWeight=7e5, a return is the published performance with a minus sign.
 *
 * The rules: a pond that is at least as full as the mean of all ponds releases 4 cfs, by Torricelli's law. A
 * less full pond releases less, in proportion (equal filling degree). A pond that is fuller than 0.7 opens
 * its orifice. The limit 0.7 was chosen from 0.1, 0.3, ..., 0.9 on storms with the storm's rain times 0.4,
 * 0.6, 0.8 and 1: it is the largest limit with which ponds flood least. */
#include <math.h>

#include "actor/envs/swmm/tasks.h"

#define FLOW_THRESHOLD 4.0
#define DEPTH_LEFT     0.1
#define GRAVITY        32.2
#define DISCHARGE      0.65 /* the discharge coefficient of an orifice, times its area of 1 ft2 */
#define FULL           0.7

enum { N_PONDS = 11, N_ENTRIES = 74 };

/* The depth at which a pond floods, ft. */
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
