/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records. report.c has a function for each kind, which reads meters and clocks and writes the records. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "invoker/loop.h"
#include "invoker/meter.h"
#include "invoker/nodes.h"
#include "invoker/progress.h"
#include "invoker/slept.h"
#include "invoker/spool.h"
#include "invoker/worker.h"

typedef struct Container Container;
typedef struct Learners Learners;

#define FALSE_RINGS_MAX 8u /* signals without an answer in one order; an honest worker makes one or two */
#define STORM_LOOK_NSEC (1000u * 1000u)

typedef struct Reporter {
        Spool spool;
        uint64_t started_nsec; /* when the job's processes started */
        uint64_t spare_nsec;   /* CPU time of ended processes that no record has yet */
        Meter control;         /* the invoker's own use */
        /* what the job's slice had counted before this life; without ActorScope=each: 0; UINT64_MAX: not
         * known */
        uint64_t earlier_nsec;
        Ourselves ourselves;
        /* the part of `control` that was charged to actors, and that no record has subtracted yet */
        uint64_t storm_nsec;
        /* the invoker's CPU time when it last served an actor's bell without an answer, or looked at a muted
         * actor (invoker/storm.c); 0: it has served another event since then */
        uint64_t storm_since_nsec;
        const Placement *place;
        const Progress *progress;
} Reporter;

/* The functions of report.c: each writes one record, if nothing else is said. cpu_nsec: the process's CPU
 * time that is in no record yet. */
/* Call this before any process of the job starts; it writes no record. */
void report_watch_slice(Reporter *reporter);
void report_started(Reporter *reporter);
void report_metrics(Reporter *reporter); /* a record for the name of each metric */
void report_worker(Reporter *reporter, Worker *worker, uint32_t index, uint64_t cpu_nsec, uint32_t fault,
                int32_t detail);
void report_rollout(Reporter *reporter, uint32_t actor, uint32_t fault, int32_t detail, bool wasted);
void report_fault(Reporter *reporter, uint32_t actor, uint32_t attempt, uint32_t fault, int32_t detail);
/* Records a container's idle time until now; its next record counts from here. */
void report_pool(Reporter *reporter, Container *c, uint64_t cpu_nsec);
void report_evaluation(Reporter *reporter, Container *c, const Answer *answer, uint64_t cpu_nsec,
                uint32_t fault, int32_t detail);
/* Records each rollout that the learner has taken, and each learner's update. Returns the slowest update's
 * emulated time. */
uint64_t report_learned(Reporter *reporter, Learners *learners);
void report_round(Reporter *reporter, uint32_t end);
/* Records the result of an evaluation that ended after its round was closed. statistics: those of the round,
 * with this result. */
void report_evaluated(Reporter *reporter, const Statistics *statistics);
void report_checkpoint(Reporter *reporter, Worker *learner, const Answer *answer);
void report_node(Reporter *reporter, const NodeNews *news); /* of a node of the cluster */
void report_ended(Reporter *reporter, uint64_t spare_nsec);

/* storm.c. c: the actor's container, which is charged; NULL: it is a learner. */
/* Call this when the worker signalled its eventfd (its bell) without an answer. */
void storm_ring(Loop *loop, Reporter *reporter, Worker *worker, Container *c);
/* Call this when the timer looked at the worker and found no answer. */
void storm_looked(Loop *loop, Reporter *reporter, const Worker *worker, Container *c);
void storm_over(Reporter *reporter);                           /* call this at any other event */
void storm_listen(Loop *loop, Worker *worker, uint32_t index); /* call it before an order */
/* The invoker's CPU time since the last call, without the part that was charged to actors for storms. */
uint64_t storm_take_control(Reporter *reporter);
