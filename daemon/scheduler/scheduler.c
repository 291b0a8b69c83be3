/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Code that all schedulers share: their table, their limits, and how their state goes into a checkpoint and
 * back. */
#include "daemon/scheduler/scheduler.h"

#include <assert.h>
#include <errno.h>
#include <glib.h>
#include <math.h>
#include <string.h>
#include "lib/settings/print.h"

static_assert(sizeof(SchedulerState) == 1024,
                "a state is written as it is: no padding, and a new ABI when it changes");

static const Scheduler *const schedulers[_SCHEDULER_MAX] = {
#define X(name, word, traits) [SCHEDULER_##name] = &scheduler_##name,
        SCHEDULERS(X)
#undef X
};

int scheduler_check(const JobSettings *settings, const void *data, size_t n_data, char **ret_message) {
        const Scheduler *scheduler;

        assert(settings && settings->scheduler.kind < _SCHEDULER_MAX);
        assert(data || n_data == 0);
        assert(ret_message);

        scheduler = schedulers[settings->scheduler.kind];
        if (n_data > SCHEDULER_DATA_MAX) {
                *ret_message = g_strdup("a scheduler's data has at most 1 MiB");
                return -EINVAL;
        }
        if (scheduler->check)
                return scheduler->check(settings, data, n_data, ret_message);
        if (n_data > 0) {
                *ret_message = g_strdup_printf("Policy=%s takes no data",
                                choice_scheduler_to_string(settings->scheduler.kind));
                return -EINVAL;
        }
        return 0;
}

void scheduler_cache_done(SchedulerCache *cache) {
        assert(cache);

        g_clear_pointer(&cache->order, g_free);
}

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

int scheduler_decide(const SchedulerView *view, SchedulerState *state) {
        assert(view && view->settings);
        assert(view->round == 0 || (view->statistics && view->facts));
        assert(state);

        if (state->n_decisions > 0 &&
                        (!scheduler_has(state->policy, TRAIT_DECIDES) || state->decided_round > view->round))
                return 0;

        state->taken = 0;
        state->why = (DecisionWhy){};
        state->n_actors = scheduler_clip(view->settings, schedulers[state->policy]->count(view, state));
        state->n_decisions++;
        state->decided_round = view->round + 1;
        return 1;
}
