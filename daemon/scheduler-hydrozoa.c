/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Policy=hydrozoa: MinActors= at first, doubled every ten rounds up to MaxActors=, as Nitro's authors run Hydrozoa's scaling of the batch (Guo et al., MLSys
 * 2022) beside theirs (Yu et al., PVLDB 18(1), section 7). */
#include "daemon/scheduler.h"

#define ROUNDS_PER_DOUBLING 10u
#define DOUBLINGS_MAX       10u /* 2^10 > ACTORS_MAX */

static uint32_t hydrozoa_count(const SchedulerView *view, SchedulerState *state) {
        uint64_t doublings = view->round / ROUNDS_PER_DOUBLING;

        if (doublings > DOUBLINGS_MAX)
                return scheduler_highest(view->settings);
        return scheduler_lowest(view->settings) << doublings;
}

const Scheduler scheduler_hydrozoa = { .count = hydrozoa_count };
