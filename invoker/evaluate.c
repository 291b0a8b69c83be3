/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Evaluations: whole episodes on streams of their own. Each is an invocation with a record; an episode's result depends on the policy and on
 * its number alone, so any container may play it.
 *
 * A job that only evaluates plays in the containers that would train. One that trains has containers of their own for it, numbered from
 * MaxActors= up, which are frozen between two evaluations. If what comes after a round hangs on it, they play before the record that closes the
 * round; else beside the next round, which closes only after them: so there is one evaluation at a time, and its bank keeps its version,
 * since an update spares the newest one's and the update after that waits. No checkpoint is written while they play, so that a life that
 * begins at one has nothing to make up for. */
#include <assert.h>
#include <math.h>

#include "invoker/evaluation.h"
#include "invoker/invoker.h"
#include "lib/boottime.h"

static bool training(const Invoker *i) {
        return i->invoked->launch.purpose == LAUNCH_TRAIN;
}

static uint32_t players_first(const Invoker *i) {
        return training(i) ? i->n_containers : 0;
}

static uint32_t players_end(const Invoker *i) {
        return training(i) ? i->n_containers + i->n_evaluators : i->n_containers;
}

uint32_t evaluate_actor(const Invoker *i, const Container *c) {
        return i->n_actors + c->index - players_first(i);
}

void evaluate_begin(Invoker *i) {
        i->evaluation = (Evaluation){
                .goes_on = true,
                .round = i->round->number,
                .policy_version = i->policy_version,
                .policy_bank = i->arrival.policy_bank,
                .statistics = i->statistics,
                .started_nsec = clock_boottime(),
                .started_emulated_nsec = i->emulated_nsec,
        };
        for (uint32_t k = players_first(i); k < players_end(i); k++)
                if (i->containers[k].state == CONTAINER_PARKED)
                        pool_thaw(i, &i->containers[k]);
}

/* Kept for the next time, unless the job keeps nobody. An evaluation takes no time of the fleet's, wherever beside the next round it ended. */
void evaluate_rest(Invoker *i, Container *c) {
        WarmRest rest = warm_rest(i->settings);

        if (c->state != CONTAINER_READY || c->doing != ORDER_NONE)
                return;
        if (rest.n_provisioned == 0 && rest.keep_nsec == 0)
                pool_end(c, FAULT_NONE, 0);
        else
                pool_park(c, i->evaluation.started_emulated_nsec);
}

static void evaluated(Invoker *i) {
        Evaluation *e = &i->evaluation;
        double mean, sd;

        e->goes_on = false;
        if (!training(i)) {
                finish_begin(i, PLAN_END_FINISHED, FAULT_NONE, 0, ACTOR_NONE);
                return;
        }
        for (uint32_t k = players_first(i); k < players_end(i); k++)
                evaluate_rest(i, &i->containers[k]);
        evaluation_summarise(i->returns, i->n_episodes, &mean, &sd);
        /* Where the next update is over already, these statistics are its own. */
        if (e->closed_seq == 0 || !i->round_open) {
                i->statistics.evaluation_mean = mean;
                i->statistics.evaluation_sd = sd;
        }
        if (e->closed_seq > 0)
                report_evaluated(i, mean, sd);

        if (i->phase != PHASE_EVALUATING)
                return; /* nobody waits for it */
        if (e->closed_seq > 0 && i->round_open)
                conduct_evaluate_round(i);
        else
                conduct_close_round(i);
}

static void play(Invoker *i, Container *c) {
        const Order order = {
                .kind = ORDER_EVALUATE,
                .attempt = c->plays.n,
                .ordinal = c->episode,
                .policy_version = i->evaluation.policy_version,
                .policy_bank = (uint32_t) i->evaluation.policy_bank,
                .actor = evaluate_actor(i, c),
        };

        c->has_episode = true;
        pool_order(i, c, &order);
}

static void serve(Invoker *i, Container *c) {
        int r;

        if (c->doing != ORDER_NONE || (!c->has_episode && i->evaluation.next_episode == i->n_episodes))
                return;
        if (c->state == CONTAINER_ABSENT) {
                r = pool_fork(i, c);
                if (r < 0)
                        finish_begin(i, PLAN_END_FAILED, FAULT_INTERNAL, -r, evaluate_actor(i, c));
        } else if (c->state == CONTAINER_READY) {
                if (!c->has_episode) {
                        c->episode = i->evaluation.next_episode++;
                        c->plays = (Attempts){};
                }
                play(i, c);
        }
}

void evaluate_serve(Invoker *i) {
        /* A round in flight ends as a whole, with its evaluation. */
        if (!training(i) && i->link.has_plan && i->link.plan.end != PLAN_END_NOT) {
                finish_begin(i, i->link.plan.end, FAULT_NONE, 0, ACTOR_NONE);
                return;
        }
        if (i->evaluation.n_done == i->n_episodes) {
                evaluated(i);
                /* Whoever waited for it may have begun the next one. */
                if (!i->evaluation.goes_on)
                        return;
        }
        for (uint32_t k = players_first(i); k < players_end(i) && i->evaluation.goes_on; k++)
                serve(i, &i->containers[k]);
}

void evaluate_answered(Invoker *i, Container *c, const Answer *answer) {
        if (answer->fault != FAULT_NONE) {
                pool_end(c, answer_claim(answer), answer->detail);
                return;
        }
        if (!evaluation_is_possible(answer, i->page->spec.horizon_steps)) {
                pool_end(c, FAULT_ANSWER, 0);
                return;
        }

        report_evaluation(i, c, answer, pool_take(c), FAULT_NONE, 0);
        if (i->returns)
                i->returns[c->episode] = answer->episode_return;
        c->doing = ORDER_NONE;
        c->fresh = c->has_episode = false;
        i->evaluation.n_done++;
}

void evaluate_failed(Invoker *i, Container *c, uint64_t cpu_nsec, uint32_t fault, int32_t detail) {
        uint32_t actor = evaluate_actor(i, c);

        report_evaluation(i, c, NULL, cpu_nsec, fault, detail);
        report_fault(i, actor, c->plays.n, fault, detail);
        if (!attempts_fail(&c->plays, i->settings->n_retries, fault, detail))
                finish_begin(i, PLAN_END_FAILED, fault, detail, actor);
}
