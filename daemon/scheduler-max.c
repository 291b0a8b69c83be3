/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Policy=max: MaxActors= in every round, one decision for the whole job: MinionsRL-Max (Yu et al., AAAI 2024, "Ablation"), the fastest and dearest
 * of the papers' own baselines. */
#include "daemon/scheduler.h"

static uint32_t max_count(const SchedulerView *view, SchedulerState *state) {
        return scheduler_highest(view->settings);
}

const Scheduler scheduler_max = { .count = max_count };
