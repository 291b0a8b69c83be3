/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* stormwater:theta: open and close the orifices of two ponds in parallel, so that neither floods and the
 * stream below stays slow.
 *
 * Scenario theta of pystorms ("pystorms: A simulation sandbox for the development and evaluation of
 * stormwater control algorithms", Rimer et al., Environmental Modelling & Software 2023), on the engine
 * that it runs on: its catchments, infiltration, ponds, orifices, conduits, step sizes, 78 hours and
 * storm, two depths as states, two openings as actions, and its measure. The text of the network is ours,
 * with a junction where pystorms has a divider, which SWMM treats alike.
 *
 * A step is 15 minutes, 312 of them the 78 hours. Observed beside the two depths (m), unless Forecast=no:
 * the stream's flow (m3/s), and the rain of the next hour and of the one after (mm). The reward of a step
 * is the sum over SWMM's own steps in it, up to 30 s each, of
 *
 *     -10 max(0, stream - 0.5 m3/s) - FloodWeight (number of ponds that flood)
 *
 * so that with FloodWeight=1e6, the default, a return is the published performance with a minus sign.
 *
 * The rules: release 0.5 m3/s in all, shared by how full the ponds are (equal filling degree), each
 * through an orifice under its depth by Torricelli; and open a pond that is within 0.7 m of flooding, the
 * least with which none of 30 training storms floods. */
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
