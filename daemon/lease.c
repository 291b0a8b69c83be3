/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Settings + usage + scheduler -> plan. The last round of a lease is a function of the records alone, not of when the daemon looked, except where money ends a job:
 * then the records that decided it are in the ledger. */
#include "daemon/lease.h"

#include <assert.h>

static uint64_t saturating_add(uint64_t a, uint64_t b) {
        uint64_t sum;

        return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

void lease_make(const LeaseInput *input, SchedulerState *state, Decision *decided, Plan *ret) {
        uint64_t n_rounds;

        assert(input && input->settings && input->usage);
        assert(state);
        assert(decided);
        assert(ret);

        /* A deciding policy is asked once for each round, however often a plan is made meanwhile. */
        if (decided->id == 0 || (scheduler_decides(state) && state->decided_round <= input->round &&
                                                input->end == PLAN_END_NOT))
                *decided = scheduler_decide(
                                &(SchedulerView){ input->settings, input->statistics, input->round }, state);

        *ret = (Plan){
                .abi = PLAN_ABI,
                .message = PLAN_MESSAGE_PLAN,
                .through_round = input->round,
                .acknowledged = input->acknowledged,
                .decision = *decided,
                .end = input->end,
                .stop_deadline_nsec = input->end == PLAN_END_NOT ? 0 : input->stop_deadline_nsec,
        };
        if (input->end != PLAN_END_NOT)
                return;

        n_rounds = budget_rounds(input->usage, input->sheet, input->settings);
        if (n_rounds == 0) {
                /* The round in flight, if the lease before had one, may end: it is the one by which a budget is passed. */
                ret->end = PLAN_END_BUDGET;
                return;
        }
        if (scheduler_decides(state))
                n_rounds = 1;
        ret->through_round = saturating_add(input->round, n_rounds);
}
