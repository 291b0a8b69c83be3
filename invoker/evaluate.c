/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Evaluations: whole episodes of a restored policy, acting without chance, on streams of their own. Each is an invocation with a
 * record; an episode's result depends on its number alone, so any container may play it. */
#include "invoker/invoker.h"

static void play(Invoker *i, Container *c) {
        const Order order = {
                .kind = ORDER_EVALUATE,
                .attempt = c->plays.n,
                .ordinal = c->episode,
                .policy_version = i->policy_version,
                .actor = c->index,
        };

        c->has_episode = true;
        pool_order(i, c, &order);
}

void evaluate_serve(Invoker *i) {
        uint64_t n_episodes = i->invoked->launch.n_episodes;

        if (i->link.has_plan && i->link.plan.end != PLAN_END_NOT) {
                finish_begin(i, i->link.plan.end, FAULT_NONE, 0, ACTOR_NONE);
                return;
        }
        if (i->n_episodes_done == n_episodes) {
                finish_begin(i, PLAN_END_FINISHED, FAULT_NONE, 0, ACTOR_NONE);
                return;
        }

        for (uint32_t k = 0; k < i->n_containers && i->phase == PHASE_EVALUATING; k++) {
                Container *c = &i->containers[k];
                bool wanted = c->has_episode || i->next_episode < n_episodes;
                int r = 0;

                if (!wanted || c->doing != ORDER_NONE)
                        continue;
                if (c->state == CONTAINER_ABSENT)
                        r = pool_fork(i, c);
                else if (c->state == CONTAINER_READY) {
                        if (!c->has_episode) {
                                c->episode = i->next_episode++;
                                c->plays = (Attempts){};
                        }
                        play(i, c);
                }
                if (r < 0)
                        finish_begin(i, PLAN_END_FAILED, FAULT_INTERNAL, -r, c->index);
        }
}

void evaluate_answered(Invoker *i, Container *c, const Answer *answer) {
        if (answer->fault != FAULT_NONE) {
                pool_end(c, answer_claim(answer), answer->detail);
                return;
        }

        report_evaluation(i, c, answer, pool_take(c), FAULT_NONE, 0);
        c->doing = ORDER_NONE;
        c->fresh = c->has_episode = false;
        i->n_episodes_done++;
}

void evaluate_failed(Invoker *i, Container *c, uint64_t cpu_nsec, uint32_t fault, int32_t detail) {
        report_evaluation(i, c, NULL, cpu_nsec, fault, detail);
        report_fault(i, i->n_actors + c->index, c->plays.n, fault, detail);
        if (!attempts_fail(&c->plays, i->settings->n_retries, fault, detail))
                finish_begin(i, PLAN_END_FAILED, fault, detail, i->n_actors + c->index);
}
