/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records. report.c has a function for each kind: it reads meters and clocks and writes one record, and does
 * nothing else. */
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

#define FALSE_RINGS_MAX 8u /* within an order: an honest worker rings late once or twice */
#define STORM_LOOK_NSEC (1000u * 1000u)

typedef struct Reporter {
        Spool spool;
        uint64_t started_nsec; /* this life */
        uint64_t spare_nsec;   /* CPU of processes that ended, which no record has yet */
        Meter control;         /* the invoker's own use */
        Ourselves ourselves;
        uint64_t storm_nsec; /* of `control`: charged to actors, and not yet left out of a record */
        /* our CPU time at the last false ring; 0: another event was served since */
        uint64_t storm_since_nsec;
        const Placement *place;
        const Progress *progress;
} Reporter;

/* report.c: one record each. cpu_nsec: CPU time of the process that is in no record yet. */
void report_started(Reporter *reporter);
void report_metrics(Reporter *reporter); /* their names */
void report_worker(Reporter *reporter, Worker *worker, uint32_t index, uint64_t cpu_nsec, uint32_t fault,
                int32_t detail);
void report_rollout(Reporter *reporter, uint32_t actor, uint32_t fault, int32_t detail, bool wasted);
void report_fault(Reporter *reporter, uint32_t actor, uint32_t attempt, uint32_t fault, int32_t detail);
/* Its idle time until now; the next record counts from here. */
void report_pool(Reporter *reporter, Container *c, uint64_t cpu_nsec);
void report_evaluation(Reporter *reporter, Container *c, const Answer *answer, uint64_t cpu_nsec,
                uint32_t fault, int32_t detail);
/* Every invocation of the round. Returns the slowest update's emulated time. */
uint64_t report_learned(Reporter *reporter, Learners *learners);
void report_round(Reporter *reporter, uint32_t end);
/* statistics: of the round, with the result of its evaluation. */
void report_evaluated(Reporter *reporter, const Statistics *statistics); /* after its round has closed */
void report_checkpoint(Reporter *reporter, Worker *learner, const Answer *answer);
void report_node(Reporter *reporter, const NodeNews *news); /* of a node of the cluster */
void report_ended(Reporter *reporter, uint64_t spare_nsec);

/* storm.c. c: the actor's container, which is charged; NULL: a learner. */
/* The worker's bell rang without an answer. */
void storm_ring(Loop *loop, Reporter *reporter, Worker *worker, Container *c);
/* The timer looked at the worker, and there was no answer. */
void storm_looked(Loop *loop, Reporter *reporter, const Worker *worker, Container *c);
void storm_over(Reporter *reporter);                           /* another event is served now */
void storm_listen(Loop *loop, Worker *worker, uint32_t index); /* before an order */
/* The invoker's CPU time since the last call, less what actors were charged. */
uint64_t storm_take_control(Reporter *reporter);
