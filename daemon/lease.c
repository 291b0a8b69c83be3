/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Settings + usage + scheduler -> plan. The last round of a lease is a function of the records alone, not of when the daemon looked, except where money ends a job:
 * then the records that decided it are in the ledger. */
#include "daemon/lease.h"

#include <assert.h>

static uint64_t saturating_add(uint64_t a, uint64_t b) {
        uint64_t sum;

        return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

void lease_make(const LeaseInput *input, Plan *ret) {
        uint64_t n_rounds;

        assert(input && input->settings && input->usage && input->scheduler);
        assert(input->scheduler->n_decisions > 0);
        assert(ret);

        *ret = (Plan){
                .abi = PLAN_ABI,
                .message = PLAN_MESSAGE_PLAN,
                .through_round = input->round,
                .acknowledged = input->acknowledged,
                .decision = scheduler_decision(input->scheduler),
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
        if (input->step || scheduler_decides(input->scheduler))
                n_rounds = 1;
        ret->through_round = saturating_add(input->round, n_rounds);
}
