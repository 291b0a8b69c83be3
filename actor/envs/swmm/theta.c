/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* stormwater:theta: two parallel ponds drain through one orifice each into a stream. The policy opens and
 * closes the orifices. Neither pond may flood, and the flow of the stream should stay low.
 *
 * Scenario theta of pystorms ("pystorms: A simulation sandbox for the development and evaluation of
 * stormwater control algorithms", Rimer et al., Environmental Modelling & Software 2023), on the same
 * engine, EPA SWMM. The catchments, infiltration, ponds, orifices, conduits, step sizes, the 78 hours, the
 * storm and the measure of performance are those of pystorms. So are its states, the two depths, and its
 * actions, the two openings. This project has its own text of the network. It has a junction where pystorms
 * has a divider; SWMM treats both alike.
 *
 * A step is 15 minutes, and 312 steps are the 78 hours. The observation is the two depths (m) and, unless
 * Forecast=no, the stream's flow (m3/s) and the rain of each of the next two hours (mm). SWMM's own steps
 * are at most 30 s long. The reward of a step is the sum over SWMM's steps in it of
 *
 *     -10 max(0, stream - 0.5 m3/s) - FloodWeight (number of ponds that flood)
 *
 * With the default FloodWeight=1e6, a return is the published performance with a minus sign.
 *
 * The built-in controller "rules" lets both ponds together release 0.5 m3/s. Each pond's share is in
 * proportion to how full it is (equal filling degree), and its opening follows from its depth by
 * Torricelli's law. A pond that is within 0.7 m of flooding opens its orifice. The 0.7 m are the smallest
 * distance with which no pond floods in 30 training storms. */
#include <math.h>

#include "actor/envs/swmm/tasks.h"

#define FLOW_THRESHOLD 0.5
#define FLOW_WEIGHT    10.0
#define DEPTH_MAX      2.0
#define DEPTH_SPARE    0.7
#define GRAVITY        9.81

enum { P1, P2, N_PONDS, STREAM = N_PONDS /* after the orifices */ };

__asm__(".pushsection .rodata\n"
        "theta_text:\n"
        ".incbin \"actor/envs/swmm/theta.inp\"\n"
        "theta_text_end:\n"
        ".popsection\n");
extern const char theta_text[] __attribute__((visibility("hidden")));
extern const char theta_text_end[] __attribute__((visibility("hidden")));

static void theta_observe(const View *v, float ret[N_OBSERVATION_MAX]) {
        ret[0] = (float) v->now.depth[P1];
        ret[1] = (float) v->now.depth[P2];
        ret[2] = (float) v->now.flow[STREAM];
        ret[3] = (float) storm_rain(&v->storm, v->hour);
        ret[4] = (float) storm_rain(&v->storm, v->hour + 1);
}

static double theta_reward(const View *v) {
        double cost = FLOW_WEIGHT * fmax(v->now.flow[STREAM] - FLOW_THRESHOLD, 0);

        for (int i = 0; i < N_PONDS; i++)
                cost += v->now.flood[i] > 0 ? v->flood_weight : 0;
        return -cost;
}

static void theta_rules(const View *v, float ret_openings[N_VALVES_MAX]) {
        double full = v->now.depth[P1] + v->now.depth[P2];

        for (int i = 0; i < N_PONDS; i++) {
                double depth = v->now.depth[i], release = full > 0 ? FLOW_THRESHOLD * depth / full : 0;
                double opening = depth > 0 ? release / sqrt(2 * GRAVITY * depth) : 0;

                ret_openings[i] = depth > DEPTH_MAX - DEPTH_SPARE ? 1 : (float) fmin(opening, 1);
        }
}

const Task theta_task = {
        .name = "stormwater:theta",
        .drainage = { .text = theta_text, .text_end = theta_text_end },
        .names = { .nodes = { "P1", "P2" }, .links = { "1", "2", "8" } },
        .n_valves = N_PONDS,
        .n_options = N_THETA_OPTIONS,
        .family = { { 0, 1.2, 2.3, 3.2, 3.1, 3.1, 2.1, 1.1, 0.1, 0 }, 0.5, 2 }, /* mm/h */
        .n_steps = 312,
        .opening = 1,
        .n_published = 2,
        .n_observation = 5,
        .observe = theta_observe,
        .reward = theta_reward,
        .rules = theta_rules,
};
