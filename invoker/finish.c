/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How a job ends: no further order, actors gone, a last checkpoint if there is anything new to keep,
 * tried until it is kept, the last record, and then only a wait for the daemon to have it in its ledger. */
#include <assert.h>
#include <errno.h>

#include "include/launch.h"
#include "invoker/complain.h"
#include "invoker/invoker.h"
#include "lib/boottime.h"

/* What the job was started for, by its own numbers. */
uint32_t finish_goal(const JobSettings *s, const Statistics *statistics) {
        /* A mean that does not exist yet reaches nothing: NaN compares false. */
        if (settings_present(s, SETTING_Job_StopReturn) && statistics->return_mean >= s->stop_return)
                return PLAN_END_TARGET;
        if (settings_present(s, SETTING_Evaluation_StopReturn) &&
                        statistics->evaluation_mean >= s->evaluation_stop_return)
                return PLAN_END_TARGET;
        if (statistics->n_env_steps >= s->stop_steps)
                return PLAN_END_FINISHED;
        return PLAN_END_NOT;
}

/* 0 while the settings and the daemon let a further round start. */
uint32_t finish_reached(const Invoker *invoker) {
        uint32_t end = finish_goal(invoker->place.settings, &invoker->progress.statistics);

        return end == PLAN_END_NOT && invoker->link.has_plan ? invoker->link.plan.end : end;
}

void finish_round(Invoker *invoker) {
        uint32_t end = invoker->progress.phase == PHASE_ENDING ? invoker->progress.ending.end
                                                               : finish_reached(invoker);

        if (invoker->progress.open) {
                /* What idles may do so for many rounds, and what each of them has cost is compared with a
                 * budget, and drawn as a curve. */
                pool_report_idle(&invoker->pool);
                report_round(&invoker->books, end);
                invoker->progress.number = invoker->progress.round->number;
                invoker->progress.open = false;
                profile_round(&invoker->profile);
        }
        if (invoker->progress.phase != PHASE_ENDING)
                invoker->progress.phase = PHASE_IDLE;
}

/* A model has all actors of rounds that overlap act until the end; whose order was still waiting for a
 * process here is on the bill like the others, so that the bill does not depend on when processes were
 * free. A life that began no round has ordered nothing of that. */
static bool flies(const Invoker *invoker, uint32_t actor) {
        return invoker->place.settings->clock == CLOCK_MODEL && invoker->progress.round->number > 0 &&
               arrival_acts(&invoker->progress.arrival, actor);
}

/* What a round in flight has used, and whoever acts for a later one, comes to nothing. */
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
                report_rollout(&invoker->books, a, FAULT_NONE, 0, true);
        }
        round_abandon(invoker->progress.round);
}

void finish_begin(Invoker *invoker, uint32_t end, uint32_t fault, int32_t detail, uint32_t actor) {
        if (invoker->progress.phase == PHASE_ENDING || invoker->progress.phase == PHASE_ENDED)
                return;
        /* An update is not cut short by anybody but its learner: what it has learned would stand in no
         * record. */
        if (invoker->progress.phase == PHASE_LEARNING && actor != ACTOR_LEARNER &&
                        invoker->progress.ending.waits)
                return;

        invoker->progress.ending.waits = invoker->progress.phase == PHASE_LEARNING && actor != ACTOR_LEARNER;
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
        /* The policy has learned from it, whether or not it was evaluated to the end. */
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

        /* Whatever it was asked last it answers first: a checkpoint would otherwise be of a state between
         * two. */
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

        learner_end(&invoker->learners);
        r = profile_write(&invoker->profile, INVOKER_FD_STATE);
        if (r < 0)
                (void) invoker_complain(
                                r, "where its time went cannot be written to the job's state directory");
        report_ended(&invoker->books, pool_spare_nsec(&invoker->pool));
        invoker->progress.phase = PHASE_ENDED;
        invoker->progress.ending.nsec = clock_boottime();
}

void finish_checkpoint_failed(Invoker *invoker, uint32_t fault, int32_t detail) {
        invoker->progress.checkpoints.retry_nsec = clock_boottime() + CHECKPOINT_RETRY_NSEC;
        if (fault != FAULT_CHECKPOINT)
                invoker->progress.checkpoints.no_last = true;
        /* Once for each reason, not once for each try. */
        if (fault != FAULT_CHECKPOINT || detail != invoker->progress.checkpoints.error)
                report_fault(&invoker->books, ACTOR_LEARNER, 0, fault, detail);
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
