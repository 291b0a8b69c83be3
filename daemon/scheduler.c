/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What all schedulers share: their table, their limits, their state's way into a checkpoint and back. */
#include "daemon/scheduler.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static const Scheduler *const schedulers[_SCHEDULER_MAX] = {
        [SCHEDULER_FIXED] = &scheduler_fixed,
};

void scheduler_init(SchedulerState *state, uint32_t policy) {
        assert(state);
        assert(policy < _SCHEDULER_MAX);

        *state = (SchedulerState){ .abi = SCHEDULER_ABI, .policy = policy };
}

int scheduler_restore(SchedulerState *state, uint32_t policy, const void *data, size_t n) {
        SchedulerState copy;

        assert(state);
        assert(policy < _SCHEDULER_MAX);
        assert(data || n == 0);

        if (n != sizeof(copy))
                return -EBADMSG;
        memcpy(&copy, data, sizeof(copy));
        if (copy.abi != SCHEDULER_ABI || copy.policy != policy)
                return -EBADMSG;

        *state = copy;
        return 0;
}

bool scheduler_decides(const SchedulerState *state) {
        assert(state);

        return schedulers[state->policy]->decides;
}

Decision scheduler_decide(const SchedulerView *view, SchedulerState *state) {
        uint32_t n, lowest, highest;

        assert(view && view->settings);
        assert(state);

        n = schedulers[state->policy]->count(view, state);
        highest = settings_actors_max(view->settings);
        lowest = view->settings->n_actors_min < highest ? view->settings->n_actors_min : highest;
        if (n < lowest)
                n = lowest;
        if (n > highest)
                n = highest;

        if (schedulers[state->policy]->decides || state->n_decisions == 0)
                state->n_decisions++;
        state->decided_round = view->round + 1;
        return (Decision){ .id = state->n_decisions, .n_actors = n };
}
