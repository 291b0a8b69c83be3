/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Between daemon and invoker: a SEQPACKET socket with fixed records. A plan is a lease: rounds that the
 * daemon has already decided and can pay for. The invoker never starts a round beyond the end of the lease.
 * Waiting for the next plan changes no result. The invoker listens, and the daemon connects, again after
 * each restart. Then the invoker sends Hello with the spool's descriptor. */
#pragma once

/* Tables and layouts are aligned by hand. */
/* clang-format off */

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include "include/record.h"

#define PLAN_ABI 5u

/* X(name, word): why no further round may start */
#define PLAN_ENDS(X)                                                                                     \
        X(NOT, "running") X(FINISHED, "finished") X(TARGET, "target-reached")                            \
        X(BUDGET, "budget-exhausted") X(RUNTIME, "runtime-exceeded") X(INTERRUPTED, "interrupted")       \
        X(FAILED, "failed")                                                                              \
        X(REDISTRIBUTED, "redistributed") /* the job starts again with another distribution */      \
        X(PREEMPTED, "preempted") /* the job goes back to the queue, and continues later */

typedef enum PlanEnd {
#define X(name, word) PLAN_END_##name,
        PLAN_ENDS(X)
#undef X
        _PLAN_END_MAX, _PLAN_END_INVALID = -EINVAL,
} PlanEnd;

/* X(name, sentence): the step at which an invoker failed before it could begin */
#define INVOKER_STEPS(X)                                                                            \
        X(CONTRACTS, "the spawner's descriptors cannot be used")                                    \
        X(STREAMS, "the job's descriptors for its output cannot be used")                           \
        X(SIGNALS, "its signals cannot be set up") X(RECORDS, "there is no memory for its records") \
        X(FILES, "its actors need more open files than it may have")                                \
        X(LOOP, "its socket or its clock cannot be watched")

typedef enum InvokerStep {
#define X(name, sentence) INVOKER_STEP_##name,
        INVOKER_STEPS(X)
#undef X
        _INVOKER_STEP_MAX,
} InvokerStep;

typedef enum PlanMessage {
        PLAN_MESSAGE_PLAN = 1, PLAN_MESSAGE_HELLO, PLAN_MESSAGE_WRITTEN, PLAN_MESSAGE_FAILED
} PlanMessage;

/* from daemon to invoker; each plan replaces the one before */
typedef struct Plan {
        uint32_t abi, message;
        uint64_t through_round;                 /* the last round that may start */
        /* records up to this seq are committed, so their places are free */
        uint64_t acknowledged;
        Decision decision;                      /* for each round of this lease that has not started yet */
        uint32_t end;                           /* PlanEnd: end after the round in progress */
        uint32_t checkpoint;                    /* write a checkpoint at the end of the round in progress */
        /* only with `end`: the time (CLOCK_BOOTTIME) at which to give up the round in progress; 0: never */
        uint64_t stop_deadline_nsec;
        /* ask 1: answer with Written even if nothing is new; an invoker that does not answer is treated as
         * hung */
        uint32_t ask, reserved;
} Plan;

/* from invoker to daemon at each connection, with only the spool's descriptor */
typedef struct Hello {
        uint32_t abi, message;
        uint64_t job, life, round, through_round, written;
        Decision decision;
} Hello;

typedef struct Written {                        /* from invoker to daemon: read the spool up to here */
        uint32_t abi, message;
        uint64_t seq;
        /* 1: the learner has an order, for whose answer the job's end waits. Once a plan has an `end`, the
         * daemon is also told when this changes. */
        uint32_t learner_works, reserved;
} Written;

/* from invoker to daemon instead of Hello, just before the invoker exits; it has only numbers and no text,
 * since memory may have run out */
typedef struct Failed {
        uint32_t abi, message;
        uint32_t step;                          /* InvokerStep */
        int32_t error;                          /* a negative errno */
        uint32_t needed, limit;                 /* of the resource that ran out; 0: not known */
} Failed;
