/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* stormwater:tidal: two ponds drain through one pipe to a junction that the tide reaches. Neither the ponds
 * nor the junction may flood. Between storms the ponds should be 2 ft deep.
 *
 * After the model of the University of Virginia's group ("Flood mitigation in coastal urban catchments using
 * real-time stormwater infrastructure control and reinforcement learning", Bowes et al., Journal of
 * Hydroinformatics 2021). From that model are the steps of 15 minutes over a day, the two catchments, the
 * ponds (4.61 ft deep), the valves, the pipes, both kinds of state, the actions and the conditional reward.
 * This project chose the rain (1.5 in over ten hours from hour 4 on, scaled), the tide and the forecast. A
 * forecast is the rain of each of the next six hours (in), and the tide in an hour (ft).
 *
 * The observation is the depths of St1, St2 and J1 (ft), their flooding (cfs), both openings and, unless
 * Forecast=no, the forecast. The reward at the end of a step is
 *
 *     -(flood St1 + flood St2 + flood J1)                                 while the forecast has rain
 *     -flood J1 - |depth St1 - 2| - |depth St2 - 2|                       else
 *
 * The rules lower the ponds to 1 ft before rain, and hold them at 2 ft otherwise. A valve's opening is in
 * proportion to the depth above this target, and is full 1 ft above it. A valve closes while the junction is
 * within 0.2 ft of flooding, unless its pond is, too. */
#include <math.h>

#include "actor/envs/swmm/tasks.h"

#define DEPTH_TARGET  2.0
#define DEPTH_LOWERED 1.0
#define POND_MAX      4.61
#define JUNCTION_MAX  2.0
#define DEPTH_SPARE   0.2

enum { ST1, ST2, J1, N_PLACES, N_PONDS = 2, N_FORECAST_HOURS = 6 };

__asm__(".pushsection .rodata\n"
        "tidal_text:\n"
        ".incbin \"actor/envs/swmm/tidal.inp\"\n"
        "tidal_text_end:\n"
        ".popsection\n");
extern const char tidal_text[] __attribute__((visibility("hidden")));
extern const char tidal_text_end[] __attribute__((visibility("hidden")));

static double rain_ahead(const View *v, int hours) {
        return storm_rain(&v->storm, v->hour + hours - tidal_task.drainage.first_hour);
}

static bool rain_is_forecast(const View *v) {
        for (int k = 0; k < N_FORECAST_HOURS; k++)
                if (rain_ahead(v, k) > 0)
                        return true;
        return false;
}

static void tidal_observe(const View *v, float ret[N_OBSERVATION_MAX]) {
        int n = 0;

        for (int i = 0; i < N_PLACES; i++)
                ret[n++] = (float) v->now.depth[i];
        for (int i = 0; i < N_PLACES; i++)
                ret[n++] = (float) v->now.flood[i];
        for (int i = 0; i < N_PONDS; i++)
                ret[n++] = v->openings[i];
        for (int k = 0; k < N_FORECAST_HOURS; k++)
                ret[n++] = (float) rain_ahead(v, k);
        ret[n] = (float) storm_tide(&v->storm, v->hour + 1);
}

static double tidal_reward(const View *v) {
        if (rain_is_forecast(v))
                return -(v->now.flood[ST1] + v->now.flood[ST2] + v->now.flood[J1]);
        return -v->now.flood[J1] - fabs(v->now.depth[ST1] - DEPTH_TARGET) -
               fabs(v->now.depth[ST2] - DEPTH_TARGET);
}

static void tidal_rules(const View *v, float ret_openings[N_VALVES_MAX]) {
        double target = rain_is_forecast(v) ? DEPTH_LOWERED : DEPTH_TARGET;
        bool below_is_full = v->now.depth[J1] > JUNCTION_MAX - DEPTH_SPARE;

        for (int i = 0; i < N_PONDS; i++) {
                double above = v->now.depth[i] - target;
                bool full = v->now.depth[i] > POND_MAX - DEPTH_SPARE;

                ret_openings[i] = below_is_full && !full ? 0 : (float) fmin(fmax(above, 0), 1);
        }
}

const Task tidal_task = {
        .name = "stormwater:tidal",
        .drainage = { .text = tidal_text, .text_end = tidal_text_end, .first_hour = 4, .tide_hours = 25 },
        .names = { .nodes = { "St1", "St2", "J1" }, .links = { "R1", "R2" } },
        .n_valves = N_PONDS,
        .n_options = N_TIDAL_OPTIONS,
        .family = { { 0.02, 0.05, 0.1, 0.25, 0.5, 0.3, 0.13, 0.08, 0.05, 0.02 }, 0.5, 2 }, /* in/h */
        .n_steps = 96,
        .opening = 0.5F,
        .n_published = 8,
        .n_observation = 15,
        .reward_at_end = true,
        .observe = tidal_observe,
        .reward = tidal_reward,
        .rules = tidal_rules,
};
