/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Policy=fixed: Actors= in every round, one decision for the whole job. What every other policy is measured against. */
#include "daemon/scheduler.h"

static uint32_t fixed_count(const SchedulerView *view, SchedulerState *state) {
        return view->settings->n_actors;
}

const Scheduler scheduler_fixed = { .count = fixed_count };
