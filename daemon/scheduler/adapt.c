/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Policy=adapt: MinionsRL-Adapt (Yu et al., AAAI 2024, "Ablation"). The nearer the returns come to their
 * target, the more actors it uses.
 *
 * The paper has I = clip(1, (Jm / J) Imax, Imax), where J is the target and Jm the moving average of the
 * last n = 5 returns. With negative returns, this ratio is above one at the beginning and falls as the
 * policy improves, the opposite of what is intended. So here distances from the first return J1 are
 * compared: I = clip((Jm - J1) / (J - J1) Imax). Returns are of evaluation episodes if there are any,
 * otherwise of the episodes that ended in the round. A round without a return changes nothing. */
#include <math.h>
#include <string.h>

#include "daemon/scheduler/scheduler.h"
#include "lib/statistics.h"

#define RETURNS 5u

typedef struct Adapt {
        uint64_t n; /* returns seen */
        double first, newest[RETURNS];
} Adapt;
static_assert(sizeof(Adapt) <= sizeof(((SchedulerState *) 0)->own), "it must fit");

static double moving_average(const Adapt *a) {
        uint64_t n = a->n < RETURNS ? a->n : RETURNS;
        double sum = 0;

        for (uint64_t i = 0; i < n; i++)
                sum += a->newest[i];
        return sum / (double) n;
}

static uint32_t adapt_count(const SchedulerView *view, SchedulerState *state) {
        double target = settings_target_return(view->settings), value;
        Adapt a;

        memcpy(&a, state->own, sizeof(a));
        value = view->statistics ? statistics_return(
                                                   view->statistics, view->settings->evaluation_episodes > 0)
                                 : NAN;
        if (isfinite(value)) {
                if (a.n == 0)
                        a.first = value;
                a.newest[a.n % RETURNS] = value;
                a.n++;
                memcpy(state->own, &a, sizeof(a));
        }

        if (a.n == 0)
                return scheduler_lowest(view->settings);
        if (target <= a.first) /* the first return has reached the target already */
                return scheduler_highest(view->settings);
        return scheduler_clip(view->settings, (moving_average(&a) - a.first) / (target - a.first) *
                                                              scheduler_highest(view->settings));
}

const Scheduler scheduler_ADAPT = { .count = adapt_count };
