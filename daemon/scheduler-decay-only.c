/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Policy=decay-only: clip(Imax d^k, Imin, Imax), the ceiling of Nitro's formula without what it measures. A control: 1,317 actor-rounds in 50 rounds of 8 to 64
 * actors at d = 0.96. */
#include <math.h>

#include "daemon/scheduler.h"

static uint32_t decay_count(const SchedulerView *view, SchedulerState *state) {
        return scheduler_clip(view->settings,
                        scheduler_highest(view->settings) *
                                        pow(view->settings->decay, (double) (view->round + 1)));
}

const Scheduler scheduler_decay_only = { .count = decay_count };
