/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The learner's processes: one, or several that share each update, or one that also acts, where the
 * distribution fuses both. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "invoker/divide.h"
#include "invoker/loop.h"
#include "invoker/pool.h"
#include "invoker/progress.h"
#include "invoker/report.h"

#define LEARNERS_MAX GRADIENT_PARTS
#define ABSENT_NSEC  (2ull * 1000000000u) /* a process whose timer rings so late was stopped */

struct Learners {
        Worker workers[LEARNERS_MAX]; /* the first publishes and keeps checkpoints */
        Answer answer;                /* the first learner's, with the first fault of any of them */
        uint32_t n_answered;
        bool lost;                           /* one has ended by itself */
        uint64_t credit_nsec[LEARNERS_MAX];  /* CPU time that was metered and not claimed by its updates */
        uint64_t slowest_nsec[LEARNERS_MAX]; /* that it claims for its last order */
        /* the longest that an order took on this host; of LEARN: for each rollout */
        uint64_t longest_nsec[_ORDER_KIND_MAX];

        uint64_t acting_nsec; /* CPU time of a learner that also acts, which no record has yet */
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
void learner_order_checkpoint(Learners *learners, bool last); /* last: of the life */
void learner_stop_serving(Learners *learners);
/* Moves the deadline of a learner that still looks at the actors for which it acts, or that has rolled and
 * learns. */
void learner_look(Learners *learners, uint64_t now);
/* Whether a late actor waits for the learner; then its deadline is moved. */
bool learner_excuses(Learners *learners, Worker *actor, uint64_t now);
/* Returns whether all have answered; learners->answer is what they say together. */
bool learner_answered(Learners *learners, uint32_t k, const Answer *answer);
void learner_forsake(Learners *learners); /* kills all: one has ended, and the others would wait for it */
bool learners_busy(const Learners *learners);
void learner_end(Learners *learners); /* kills and reaps all */

/* fused.c */
int fused_load(Placement *place); /* before any fork */
_Noreturn void fused_child(const Placement *place, const Worker *learner);
/* Decides which containers a fleet would have now. */
void fused_imagine(Container *containers, const Placement *place, const Progress *progress);
void fused_begin(Learners *learners, const Placement *place); /* before ROLLOUT */
/* The order is out: actors that waited roll. */
void fused_ordered(Container *containers, const Placement *place, const Learners *learners, Round *round);
/* Whether ROLLOUT asks for the update as well: one order and one answer less for a round. */
bool fused_learns(const Learners *learners);
/* When a learner that also acts began to learn from what it rolled; 0: it has not, or was not asked to. */
uint64_t fused_learning_nsec(const Learners *learners);
/* The job ends: returns whether it is too late to keep the learner from learning. */
bool fused_forbid_learning(Learners *learners);
/* Divides what the threads used among the actors that rolled. */
void fused_answered(Learners *learners, Round *round);
/* Takes one actor's rollout: FAULT_NONE, or why its attempt failed. */
uint32_t fused_take(Learners *learners, Round *round, uint32_t actor, int32_t *ret_detail);
uint64_t fused_timeout_nsec(const Placement *place, const Round *round);
/* Writes what the actors' invocations used into their records. */
void fused_meter(Learners *learners, Round *round);
void fused_done(Learners *learners); /* the process has ended */
