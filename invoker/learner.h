/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The learner's processes: one, or several that share each update; and one that also acts, where a
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
#define ABSENT_NSEC  (2ull * 1000000000u) /* who hears its timer so late was stopped */

struct Learners {
        Worker workers[LEARNERS_MAX]; /* the first publishes and keeps checkpoints */
        Answer answer; /* of those that have answered: the first one's words, and anybody's fault */
        uint32_t n_answered;
        bool lost;                           /* one has ended by itself */
        uint64_t credit_nsec[LEARNERS_MAX];  /* what its updates were seen to use, and have not claimed */
        uint64_t slowest_nsec[LEARNERS_MAX]; /* what it claims for its last order */
        uint64_t longest_nsec
                        [_ORDER_KIND_MAX]; /* that an order took on this host; of LEARN: for each rollout */

        uint64_t acting_nsec; /* that one which also acts was seen to use, and no record has yet */
        bool threads_tried;   /* whether its threads can be metered one by one is known */
        ThreadMeters threads;

        Placement *place;
        Progress *progress;
        Loop *loop;
        Books *books;
};

/* learner.c */
int learner_start(Learners *learners);
void learner_order(Learners *learners, uint32_t kind, uint32_t actor);
void learner_order_checkpoint(Learners *learners, bool last); /* last: of the life */
void learner_stop_serving(Learners *learners);
/* Whether the learner still looks at those for whom it acts: its deadline is moved. */
void learner_look(Learners *learners, uint64_t now);
/* Whether an actor that has not answered in time waits for the learner: its deadline is moved. */
bool learner_excuses(Learners *learners, Worker *actor, uint64_t now);
/* Returns whether the last of them has: learners_answer is what they say together. */
bool learner_answered(Learners *learners, uint32_t k, const Answer *answer);
void learner_forsake(Learners *learners); /* one has ended: the others would wait for it */
bool learners_busy(const Learners *learners);
void learner_end(Learners *learners); /* kills and reaps whatever there is of them */

/* fused.c */
int fused_load(Placement *place); /* what it brings is shared by nobody else: before any fork */
_Noreturn void fused_child(const Placement *place, const Worker *learner);
void fused_imagine(Container *containers, const Placement *place,
                const Progress *progress);                    /* which containers a fleet would have */
void fused_begin(Learners *learners, const Placement *place); /* before ROLLOUT */
void fused_ordered(Container *containers, const Placement *place, const Learners *learners,
                Round *round); /* it is out: those that waited roll */
void fused_answered(Learners *learners,
                Round *round); /* what its threads used, divided among those that rolled */
/* One of these, as the learner found its rollout: FAULT_NONE, or why its attempt failed. */
uint32_t fused_take(Learners *learners, Round *round, uint32_t actor, int32_t *ret_detail);
uint64_t fused_timeout_nsec(const Placement *place, const Round *round);
void fused_meter(Learners *learners, Round *round,
                uint32_t actor);     /* what its invocation used, into its record */
void fused_done(Learners *learners); /* its process has ended */
