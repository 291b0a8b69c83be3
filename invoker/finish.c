/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How a job ends: no further order, actors gone, a last checkpoint if there is anything new to keep,
 * tried until it is kept, the last record, and then only a wait for the daemon to have it in its ledger. */
#include <assert.h>
#include <errno.h>

#include "invoker/invoker.h"
#include "lib/boottime.h"

/* A model has all actors of rounds that overlap act until the end; whose order was still waiting for a process here is on the bill like the others,
 * so that the bill does not depend on when processes were free. A life that began no round has ordered nothing of that. */
static bool flies(const Invoker *i, uint32_t actor) {
        return i->overlaps && i->settings->clock == CLOCK_MODEL && i->round->number > 0 &&
               arrival_acts(&i->arrival, actor);
}

/* What a round in flight has used, and whoever acts for a later one, comes to nothing. */
static void waste_round(Invoker *i) {
        for (uint32_t a = 0; a < i->n_actors; a++) {
                Seat *seat = &i->round->seats[a];

                if (seat->state == SEAT_IDLE || (seat->state == SEAT_WAITING && !flies(i, a)))
                        continue;
                if (seat->state == SEAT_WAITING) {
                        seat->cold = overlap_is_cold(i, a, false);
                        seat->metered.start_nsec = clock_boottime();
                }
                if (seat->metered.end_nsec == 0)
                        seat->metered.end_nsec = clock_boottime();
                report_rollout(i, a, FAULT_NONE, 0, true);
        }
        round_abandon(i->round);
}

void finish_begin(Invoker *i, uint32_t end, uint32_t fault, int32_t detail, uint32_t actor) {
        if (i->phase == PHASE_ENDING || i->phase == PHASE_ENDED)
                return;
        /* An update is not cut short by anybody but its learner: what it has learned would stand in no record. */
        if (i->phase == PHASE_LEARNING && actor != ACTOR_LEARNER && i->end_waits)
                return;

        i->end_waits = i->phase == PHASE_LEARNING && actor != ACTOR_LEARNER;
        if (!i->end_waits)
                i->phase = PHASE_ENDING;
        i->end = end;
        i->end_fault = fault;
        i->end_detail = detail;
        i->end_actor = actor;
        if (i->end_waits)
                return;

        if (i->containers)
                pool_end_all(i);
        i->evaluation.goes_on = false;
        learner_stop_serving(i);
        if (i->round)
                waste_round(i);
        /* The policy has learned from it, whether or not it was evaluated to the end. */
        if (i->round_open)
                conduct_close_round(i);
}

static bool worth_a_checkpoint(const Invoker *i) {
        return i->invoked->launch.purpose == LAUNCH_TRAIN && i->learner.pid > 0 && i->was_restored &&
               !i->no_last_checkpoint && !(i->has_checkpoint && i->checkpoint_round == i->number);
}

void finish_advance(Invoker *i) {
        /* Whatever it was asked last it answers first: a checkpoint would otherwise be of a state between two. */
        if (learners_busy(i))
                return;
        if (worth_a_checkpoint(i)) {
                if (clock_boottime() >= i->checkpoint_retry_nsec)
                        conduct_checkpoint(i);
                else
                        invoker_want_timer(i, i->checkpoint_retry_nsec);
                return;
        }

        learner_end(i);
        report_ended(i);
        i->phase = PHASE_ENDED;
        i->ended_nsec = clock_boottime();
}

void finish_checkpoint_failed(Invoker *i, uint32_t fault, int32_t detail) {
        i->checkpoint_retry_nsec = clock_boottime() + CHECKPOINT_RETRY_NSEC;
        if (fault != FAULT_CHECKPOINT)
                i->no_last_checkpoint = true;
        /* Once for each reason, not once for each try. */
        if (fault != FAULT_CHECKPOINT || detail != i->checkpoint_error)
                report_fault(i, ACTOR_LEARNER, 0, fault, detail);
        i->checkpoint_error = detail;
}

void finish_learner_lost(Invoker *i, uint32_t fault, int32_t detail) {
        if (i->phase != PHASE_ENDING || !worth_a_checkpoint(i) || i->end == PLAN_END_FAILED)
                return;
        i->end = PLAN_END_FAILED;
        i->end_fault = fault;
        i->end_detail = detail;
        i->end_actor = ACTOR_LEARNER;
}

void finish_kill(Invoker *i) {
        for (uint32_t k = 0; i->containers && k < containers_all(i); k++) {
                leaf_kill(&i->containers[k].worker.leaf);
                worker_kill(&i->containers[k].worker);
        }
        for (uint32_t k = 0; k < i->n_learners; k++) {
                leaf_kill(&learner_at(i, k)->leaf);
                worker_kill(learner_at(i, k));
        }
        i->stop = true;
}
