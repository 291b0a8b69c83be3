/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Ends a job. Actors get no further order, and are killed. If the newest checkpoint is not up to date, the
 * invoker orders a last one. If the file cannot be written, it tries again until it succeeds; after another
 * fault there is no last checkpoint. Then it writes the last record, and waits until the daemon has this
 * record in its ledger. */
#include <assert.h>
#include <errno.h>

#include "include/launch.h"
#include "invoker/complain.h"
#include "invoker/invoker.h"
#include "lib/boottime.h"

/* The PlanEnd of the goal that the job has reached; PLAN_END_NOT: it has reached none. */
uint32_t finish_goal(const JobSettings *s, const Statistics *statistics) {
        /* A mean that does not exist yet is NaN, which compares false. */
        if (settings_present(s, SETTING_Job_StopReturn) && statistics->return_mean >= s->stop_return)
                return PLAN_END_TARGET;
        if (settings_present(s, SETTING_Evaluation_StopReturn) &&
                        statistics->evaluation_mean >= s->evaluation_stop_return)
                return PLAN_END_TARGET;
        if (statistics->n_env_steps >= s->stop_steps)
                return PLAN_END_FINISHED;
        return PLAN_END_NOT;
}

/* Why no further round may start, by the settings and the daemon; 0: one may start. */
uint32_t finish_reached(const Invoker *invoker) {
        uint32_t end = finish_goal(invoker->place.settings, &invoker->progress.statistics);

        return end == PLAN_END_NOT && invoker->link.has_plan ? invoker->link.plan.end : end;
}

void finish_round(Invoker *invoker) {
        uint32_t end = invoker->progress.phase == PHASE_ENDING ? invoker->progress.ending.end
                                                               : finish_reached(invoker);

        if (invoker->progress.open) {
                /* The idle time of containers is recorded in each round, and not only when it ends: budgets
                 * and curves need the cost of each round. */
                pool_report_idle(&invoker->pool);
                report_round(&invoker->reporter, end);
                invoker->progress.number = invoker->progress.round->number;
                invoker->progress.open = false;
                profile_round(&invoker->profile);
        }
        if (invoker->progress.phase != PHASE_ENDING)
                invoker->progress.phase = PHASE_IDLE;
}

/* Whether an actor is acting. Under Clock=model, all actors of overlapping rounds count as acting until the
 * end. An actor whose order still waits for a process is billed like the others: the bill must not depend on
 * when processes were free. An invoker that began no round has given no order. */
static bool flies(const Invoker *invoker, uint32_t actor) {
        return invoker->place.settings->clock == CLOCK_MODEL && invoker->progress.round->number > 0 &&
               arrival_acts(&invoker->progress.arrival, actor);
}

/* Writes records that count as waste, for all use of actors in the round in progress and in later ones. */
static void waste_round(Invoker *invoker) {
        for (uint32_t a = 0; a < invoker->place.n_actors; a++) {
                Seat *seat = &invoker->progress.round->seats[a];

                if (seat->state == SEAT_IDLE || (seat->state == SEAT_WAITING && !flies(invoker, a)))
                        continue;
                if (seat->state == SEAT_WAITING) {
                        seat->cold = overlap_is_cold(&invoker->progress, &invoker->place, a, false);
                        seat->metered.start_nsec = clock_boottime();
                }
                if (seat->metered.end_nsec == 0)
                        seat->metered.end_nsec = clock_boottime();
                report_rollout(&invoker->reporter, a, FAULT_NONE, 0, true);
        }
        round_abandon(invoker->progress.round);
}

/* Whether an update is in progress whose answer will come. A learner that is lost answers no more. */
static bool learns(const Invoker *invoker) {
        return invoker->progress.phase == PHASE_LEARNING && learners_busy(&invoker->learners) &&
               !invoker->learners.lost;
}

void finish_begin(Invoker *invoker, uint32_t end, uint32_t fault, int32_t detail, uint32_t actor) {
        if (invoker->progress.phase == PHASE_ENDING || invoker->progress.phase == PHASE_ENDED)
                return;
        /* An order ROLLOUT may include an update. If it is too late to forbid this update, the order counts
         * as an update. */
        if (invoker->progress.phase == PHASE_ROLLING && fused_forbid_learning(&invoker->learners))
                invoker->progress.phase = PHASE_LEARNING;
        /* An update is always finished: otherwise no record would have its results, and the last checkpoint
         * would hold a policy from after its round. Only the end of the learner cuts it short. */
        if (learns(invoker) && invoker->progress.ending.waits)
                return;

        invoker->progress.ending.waits = learns(invoker);
        if (!invoker->progress.ending.waits)
                invoker->progress.phase = PHASE_ENDING;
        invoker->progress.ending.end = end;
        invoker->progress.ending.fault = fault;
        invoker->progress.ending.detail = detail;
        invoker->progress.ending.actor = actor;
        if (invoker->progress.ending.waits)
                return;

        if (invoker->pool.containers)
                pool_end_all(&invoker->pool);
        invoker->progress.evaluation.goes_on = false;
        learner_stop_serving(&invoker->learners);
        if (invoker->progress.round)
                waste_round(invoker);
        /* The policy has learned from this round, even if it was not evaluated to the end. */
        if (invoker->progress.open)
                finish_round(invoker);
}

static bool lacks_a_checkpoint(const Invoker *invoker) {
        const Checkpoints *kept = &invoker->progress.checkpoints;

        return training(invoker) && kept->restored && !kept->no_last &&
               !(kept->exists && kept->round == invoker->progress.number);
}

static bool worth_a_checkpoint(const Invoker *invoker) {
        return invoker->learners.workers[0].pid > 0 && lacks_a_checkpoint(invoker);
}

void finish_advance(Invoker *invoker) {
        int r;

        /* The learner cannot write a checkpoint before it has carried out its order. */
        if (learners_busy(&invoker->learners))
                return;
        if (worth_a_checkpoint(invoker)) {
                if (clock_boottime() >= invoker->progress.checkpoints.retry_nsec) {
                        invoker->link.plan.checkpoint = 0;
                        learner_order_checkpoint(&invoker->learners, true);
                } else
                        loop_want_timer(&invoker->loop, invoker->progress.checkpoints.retry_nsec);
                return;
        }

        if (!cluster_close(invoker))
                return;
        learner_end(&invoker->learners);
        r = profile_write(&invoker->profile, INVOKER_FD_STATE);
        if (r < 0)
                (void) invoker_complain(r, "its profile cannot be written to the job's state directory");
        report_ended(&invoker->reporter, pool_spare_nsec(&invoker->pool));
        invoker->progress.phase = PHASE_ENDED;
        invoker->progress.ending.nsec = clock_boottime();
}

void finish_checkpoint_failed(Invoker *invoker, uint32_t fault, int32_t detail) {
        invoker->progress.checkpoints.retry_nsec = clock_boottime() + CHECKPOINT_RETRY_NSEC;
        if (fault != FAULT_CHECKPOINT)
                invoker->progress.checkpoints.no_last = true;
        /* The journal gets one line for each reason, not one for each try. */
        if (fault != FAULT_CHECKPOINT || detail != invoker->progress.checkpoints.error)
                report_fault(&invoker->reporter, ACTOR_LEARNER, 0, fault, detail);
        invoker->progress.checkpoints.error = detail;
}

void finish_learner_lost(Invoker *invoker, uint32_t fault, int32_t detail) {
        if (invoker->progress.phase != PHASE_ENDING || !lacks_a_checkpoint(invoker) ||
                        invoker->progress.ending.end == PLAN_END_FAILED)
                return;
        invoker->progress.ending.end = PLAN_END_FAILED;
        invoker->progress.ending.fault = fault;
        invoker->progress.ending.detail = detail;
        invoker->progress.ending.actor = ACTOR_LEARNER;
}

void finish_kill(Invoker *invoker) {
        for (uint32_t k = 0; invoker->pool.containers && k < containers_all(&invoker->place); k++) {
                leaf_kill(&invoker->pool.containers[k].worker.leaf);
                worker_kill(&invoker->pool.containers[k].worker);
        }
        for (uint32_t k = 0; k < invoker->place.n_learners; k++) {
                leaf_kill(&invoker->learners.workers[k].leaf);
                worker_kill(&invoker->learners.workers[k]);
        }
        invoker->stop = true;
}
