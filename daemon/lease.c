/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes a plan from settings, usage and scheduler. The last round of a plan (a lease of rounds) follows from
 * the records alone, not from the time at which the daemon looks. With a budget, the next round may begin
 * only when the cost of the last one is known: any round can cost more than all before it (an evaluation,
 * more actors, retries). So a job exceeds its budget by one round at most. */
#include "daemon/lease.h"

#include <assert.h>
#include "lib/saturate.h"

void lease_make(const LeaseInput *input, Plan *ret) {
        bool one;

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

        if (budget_spent(input->usage, input->settings)) {
                ret->end = PLAN_END_BUDGET;
                return;
        }
        one = input->step || scheduler_has(input->scheduler->policy, TRAIT_DECIDES) ||
              settings_present(input->settings, SETTING_Job_Budget);
        ret->through_round = one ? saturating_add(input->round, 1) : UINT64_MAX;
}
