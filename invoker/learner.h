/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The learner's processes: one; or several that share each update; or, if the distribution is fused, one
 * that also acts. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "invoker/divide.h"
#include "invoker/loop.h"
#include "invoker/pool.h"
#include "invoker/progress.h"
#include "invoker/report.h"

#define LEARNERS_MAX GRADIENT_PARTS
/* If the invoker or a learner was silent for this long, it was stopped, or the host slept. */
#define ABSENT_NSEC (2ull * 1000000000u)

struct Learners {
        Worker workers[LEARNERS_MAX]; /* the first one publishes and writes checkpoints */
        Answer answer;                /* learner 0's, but with the first fault that any learner reported */
        uint32_t n_answered;
        bool lost; /* a learner has ended by itself */
        /* each learner's metered CPU time, less the slowest_nsec that were accepted for its updates */
        uint64_t credit_nsec[LEARNERS_MAX];
        uint64_t slowest_nsec[LEARNERS_MAX]; /* as the learner reports it (Answer), not yet checked */
        /* the longest time of each kind of order on this host; for LEARN, the time per rollout */
        uint64_t longest_nsec[_ORDER_KIND_MAX];

        uint64_t acting_nsec; /* CPU time of a learner that also acts, as far as no record has it yet */
        bool threads_tried;   /* thread_meters_init() was called */
        ThreadMeters threads;

        Placement *place;
        Progress *progress;
        Loop *loop;
        Reporter *reporter;
};

/* learner.c */
int learner_start(Learners *learners);
void learner_order(Learners *learners, uint32_t kind, uint32_t actor);
void learner_order_checkpoint(Learners *learners, bool last); /* last: no checkpoint follows */
void learner_stop_serving(Learners *learners);
/* Call this when the learner's deadline has passed. Moves the deadline if the learner has looked for its
 * actors' requests since, or if the learner also acts and has begun to learn. */
void learner_look(Learners *learners, uint64_t now);
/* Whether a late actor is waiting for the learner; then the actor's deadline is moved, or the timer is set
 * for another look. */
bool learner_excuses(Learners *learners, Worker *actor, uint64_t now);
/* Notes the answer of learner k. Returns whether all have answered; then learners->answer is their common
 * answer. */
bool learner_answered(Learners *learners, uint32_t k, const Answer *answer);
/* Kills all learners: one has ended by itself, and the others would wait for it. */
void learner_forsake(Learners *learners);
bool learners_busy(const Learners *learners);
void learner_end(Learners *learners); /* kills and reaps all */

/* fused.c */
int fused_load(Placement *place); /* call it before any fork */
_Noreturn void fused_child(const Placement *place, const Worker *learner);
void fused_begin(Learners *learners, const Placement *place); /* call it before ROLLOUT */
/* Call this after the order ROLLOUT: it notes that the waiting actors have begun. */
void fused_ordered(const Pool *pool, const Learners *learners, Round *round);
/* Whether ROLLOUT also asks for the update, which saves an order and an answer in each round. */
bool fused_learns(const Learners *learners);
/* When a learner that also acts began to learn; 0: it has not begun, or was not asked to. */
uint64_t fused_learning_nsec(const Learners *learners);
/* Call this when the job ends: tells the learner not to begin to learn. True: it has begun already. */
bool fused_forbid_learning(Learners *learners);
/* Divides the CPU time of the learner's threads among the actors whose rollouts they made. */
void fused_answered(Learners *learners, Round *round);
/* Takes one actor's rollout. FAULT_NONE, or why its attempt failed. */
uint32_t fused_take(Learners *learners, Round *round, uint32_t actor, int32_t *ret_detail);
uint64_t fused_timeout_nsec(const Placement *place, const Round *round);
/* Notes the CPU time and the peak memory of each actor's invocation, for its record. */
void fused_meter(Learners *learners, Round *round);
void fused_done(Learners *learners); /* call it when the process has ended */
