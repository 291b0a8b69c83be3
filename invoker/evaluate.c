/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Evaluations: whole episodes on random streams of their own. Each episode is an invocation with a record.
 * Its result depends only on the policy and on the episode's number, so any container may play it.
 *
 * A job that only evaluates plays in the containers that would otherwise train. A job that trains has more
 * containers for evaluations, with numbers from MaxActors= up; between evaluations they are frozen, or ended
 * if the job keeps no idle containers. If the next round depends on the result, the episodes are played
 * before the last record of the round. Otherwise they are played beside the next round, and that round ends
 * only after them. So there is one evaluation at a time. The bank of its policy is not overwritten: the next
 * update does not touch the newest version, and the update after that waits. No checkpoint is written during
 * an evaluation. So a job that continues from a checkpoint repeats an evaluation only for its result, which
 * may end the job (restored() in conduct.c). */
#include <assert.h>
#include <math.h>

#include "invoker/evaluation-rules.h"
#include "invoker/invoker.h"
#include "lib/boottime.h"
#include "lib/statistics.h"

static uint32_t players_first(const Invoker *invoker) {
        return training(invoker) ? invoker->place.n_containers : 0;
}

static uint32_t players_end(const Invoker *invoker) {
        return training(invoker) ? containers_all(&invoker->place) : invoker->place.n_containers;
}

void evaluate_begin(Invoker *invoker) {
        invoker->progress.evaluation = (Evaluation){
                .goes_on = true,
                .returns = invoker->progress.evaluation.returns,
                .metrics = invoker->progress.evaluation.metrics,
                .round = invoker->progress.round->number,
                .policy_version = invoker->progress.policy_version,
                .policy_bank = invoker->progress.arrival.policy_bank,
                .statistics = invoker->progress.statistics,
                .started_nsec = clock_boottime(),
                .started_emulated_nsec = invoker->progress.emulated_nsec,
        };
        for (uint32_t k = players_first(invoker); k < players_end(invoker); k++)
                if (invoker->pool.containers[k].state == CONTAINER_PARKED)
                        pool_thaw(&invoker->pool, &invoker->pool.containers[k]);
}

/* Freezes (parks) the container until the next evaluation, or ends it if the job keeps no idle containers.
 * On the emulated clock an evaluation takes no time, so the container counts as idle from the beginning of
 * the evaluation. */
void evaluate_rest(Invoker *invoker, Container *c) {
        WarmRest rest = warm_rest(invoker->place.settings);

        if (c->state != CONTAINER_READY || c->doing != ORDER_NONE)
                return;
        if (rest.n_provisioned == 0 && rest.keep_nsec == 0)
                pool_end(c, FAULT_NONE, 0);
        else
                pool_park(c, invoker->progress.evaluation.started_emulated_nsec);
}

/* Computes the means over all episodes of the evaluation. */
static void summarise(const Invoker *invoker, Statistics *ret) {
        const Evaluation *e = &invoker->progress.evaluation;
        uint64_t n = invoker->place.n_episodes;

        evaluation_summarise(e->returns, n, &ret->evaluation_mean, &ret->evaluation_sd);
        for (uint32_t i = 0; i < invoker->place.page->spec.n_metrics; i++)
                statistics_metrics(ret, true)[i] = evaluation_metric_mean(e->metrics + i * n, n);
}

/* Records the means over all episodes of the evaluation, added up in the order of their numbers: the sum of
 * the records, which come in the order in which the episodes end, may be rounded differently. The means also
 * enter the newest statistics, if these are not of the next update already. */
void evaluate_end(Invoker *invoker) {
        Evaluation *e = &invoker->progress.evaluation;
        bool of_open_round = training(invoker) && e->closed_seq == 0;
        Statistics said = e->statistics;

        e->goes_on = false;
        if (training(invoker))
                for (uint32_t k = players_first(invoker); k < players_end(invoker); k++)
                        evaluate_rest(invoker, &invoker->pool.containers[k]);
        summarise(invoker, &said);
        if (of_open_round || !invoker->progress.open)
                statistics_copy_evaluation(&said, &invoker->progress.statistics);
        if (!of_open_round)
                report_evaluated(&invoker->reporter, &said);
}

static void play(Invoker *invoker, Container *c) {
        const Order order = {
                .kind = ORDER_EVALUATE,
                .attempt = c->plays.n,
                .ordinal = c->episode,
                .policy_version = invoker->progress.evaluation.policy_version,
                .policy_bank = (uint32_t) invoker->progress.evaluation.policy_bank,
                .actor = container_plays_as(&invoker->place, c),
        };

        c->has_episode = true;
        pool_order(&invoker->pool, c, &order);
}

static int serve(Invoker *invoker, Container *c, uint64_t until_nsec) {
        if (c->doing != ORDER_NONE || (!c->has_episode && invoker->progress.evaluation.next_episode ==
                                                                          invoker->place.n_episodes))
                return 0;
        if (c->state == CONTAINER_ABSENT)
                return clock_boottime() < until_nsec ? pool_fork(&invoker->pool, c) : 0;
        if (c->state != CONTAINER_READY)
                return 0;
        if (!c->has_episode) {
                c->episode = invoker->progress.evaluation.next_episode++;
                c->plays = (Attempts){};
        }
        play(invoker, c);
        return 0;
}

/* Gives episodes to the containers that are ready, and starts missing containers for at most START_NSEC. The
 * answer of a started container is an event, and each event calls this function again. */
int evaluate_serve(Invoker *invoker, uint32_t *ret_actor) {
        uint64_t until_nsec = clock_boottime() + START_NSEC;

        for (uint32_t k = players_first(invoker); k < players_end(invoker); k++) {
                int r = serve(invoker, &invoker->pool.containers[k], until_nsec);

                if (r < 0) {
                        *ret_actor = container_plays_as(&invoker->place, &invoker->pool.containers[k]);
                        return r;
                }
        }
        return 0;
}

bool evaluate_is_over(const Invoker *invoker) {
        return invoker->progress.evaluation.n_done == invoker->place.n_episodes;
}

void evaluate_answered(Invoker *invoker, Container *c, const Answer *answer) {
        const ActordEnvSpec *spec = &invoker->place.page->spec;
        Evaluation *e = &invoker->progress.evaluation;
        uint32_t n;

        if (answer->fault != FAULT_NONE) {
                pool_end(c, pool_claim(c, answer), answer->detail);
                return;
        }
        if (!evaluation_is_possible(answer, spec->horizon_steps)) {
                pool_end(c, FAULT_ANSWER, 0);
                return;
        }
        n = evaluation_impossible_metric(answer, spec->n_metrics);
        if (n > 0) {
                pool_end(c, FAULT_METRIC, (int32_t) n);
                return;
        }

        report_evaluation(&invoker->reporter, c, answer, pool_take(c), FAULT_NONE, 0);
        e->returns[c->episode] = answer->episode_return;
        for (uint32_t i = 0; i < spec->n_metrics; i++)
                e->metrics[i * invoker->place.n_episodes + c->episode] = answer->metrics[i];
        c->doing = ORDER_NONE;
        c->fresh = c->has_episode = false;
        e->n_done++;
}

bool evaluate_failed(Invoker *invoker, Container *c, uint64_t cpu_nsec, uint32_t fault, int32_t detail) {
        report_evaluation(&invoker->reporter, c, NULL, cpu_nsec, fault, detail);
        report_fault(&invoker->reporter, container_plays_as(&invoker->place, c), c->plays.n, fault, detail);
        return attempts_fail(&c->plays, invoker->place.settings->n_retries, fault, detail);
}

void evaluate_round(Invoker *invoker) {
        bool last = finish_goal(invoker->place.settings, &invoker->progress.statistics) != PLAN_END_NOT;

        invoker->progress.phase = PHASE_EVALUATING;
        /* The evaluation of the previous round may still be under way. */
        if (invoker->progress.evaluation.goes_on)
                return;
        if (!evaluation_is_due(invoker->place.settings, invoker->progress.round->number, last)) {
                finish_round(invoker);
                return;
        }
        evaluate_begin(invoker);
        if (evaluation_is_beside(invoker->place.settings, last)) {
                finish_round(invoker);
                invoker->progress.evaluation.closed_seq = spool_last(&invoker->reporter.spool);
        }
}
