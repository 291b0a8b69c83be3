/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Policy=random: uniform between MinActors= and MaxActors=, from a stream of the job's seed that is keyed by the round. A control: whoever decides by what the rounds show
 * has to beat who does not look. */
#include "daemon/scheduler.h"
#include "lib/rng.h"

static uint32_t random_count(const SchedulerView *view, SchedulerState *state) {
        uint32_t lowest = scheduler_lowest(view->settings), highest = scheduler_highest(view->settings);
        ActordRandom random;

        scheduler_random_begin(&random, view, SCHEDULER_STREAM_RANDOM);
        return lowest + random_below(&random, highest - lowest + 1);
}

const Scheduler scheduler_random = { .count = random_count };
