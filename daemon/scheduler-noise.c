/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Policy=noise: Nitro's formula with noise for its curvature, from a stream of the job's seed that is keyed by the round. A control: it spends what nitro spends, and
 * knows nothing. */
#include "daemon/scheduler-window.h"
#include "lib/rng.h"

static uint32_t noise_count(const SchedulerView *view, SchedulerState *state) {
        ActordRandom random;

        scheduler_random_begin(&random, view, SCHEDULER_STREAM_NOISE);
        return window_count(view, state, actord_random_normal(&random));
}

const Scheduler scheduler_noise = { .count = noise_count };
