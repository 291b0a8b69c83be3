/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* invoker <-> worker (an actor's container, or the learner): an order and its answer, in one page of
 * shared memory per worker. The same for both, since a learner's update is an invocation too. The worker
 * sleeps on `go` (futex, after spinning while cores are free); the invoker sleeps in epoll on one eventfd
 * per worker, rung only while `asleep` is set. Only lib/turn.c touches these words.
 *
 *   invoker: order, go = n             worker: waits until go != done
 *   worker: answer, done = go, bell    invoker: sees done == go, reads and checks the answer
 */
#pragma once

/* Tables and layouts are aligned by hand. */
/* clang-format off */

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include "include/profile.h"
#include "include/record.h"
#include "include/settings.h"
#include "include/slot.h"
#include "include/trial.h"

typedef enum OrderKind {
        ORDER_NONE,
        ORDER_PROBE,            /* actor: load the environment, write its spec into the worker page */
        /* actor: act and step, or step and ask for actions; a learner that acts: for each actor that its
         * page names, take what comes of it, and if the order says so go on as under LEARN */
        ORDER_ROLLOUT,
        ORDER_EVALUATE,         /* actor: one whole episode `ordinal` on evaluation streams */
        /* learner: act for actors 0 .. n_actors - 1, step by step, until the page says stop */
        ORDER_SERVE,
        ORDER_TAKE,             /* learner: check and copy one actor's rollout; the answer is the verdict */
        ORDER_LEARN,            /* learner: update and publish policy_version + 1 */
        ORDER_CHECKPOINT,       /* learner: everything below the daemon into one file */
        /* learner: file -> parameters, snapshots into the segments (bank 0), ordinals into the page */
        ORDER_RESTORE,
        ORDER_END,              /* exit with status 0 */
        _ORDER_KIND_MAX,
} OrderKind;

typedef struct Order {          /* written by the invoker before go */
        uint32_t kind, attempt;
        uint64_t round;
        /* ROLLOUT, TAKE: the actor's invocation, from 0; EVALUATE: the episode; LEARN: the update */
        uint64_t ordinal;
        uint64_t policy_version;                /* to act with; TAKE: that was acted with; else the newest */
        uint32_t actor;                         /* ROLLOUT, EVALUATE, TAKE: whose segment */
        /* ROLLOUT: bank to read, the other one is written; TAKE: as of the ROLLOUT */
        uint32_t snapshot_bank;
        /* LEARN: rollouts of the round that were taken: actors 0 .. n_actors - 1 */
        uint32_t n_actors;
        uint32_t remote;                        /* ROLLOUT: 1: the learner acts, ask it */
        /* policy_version lies there; LEARN: where the next version goes */
        uint32_t policy_bank;
        /* CHECKPOINT: 1: the job's last, which may take the place that is reserved for it; RESTORE: 1:
         * reserve that */
        uint32_t last;
        /* RESTORE: 1: only to play with its policy, so slots of another shape are left out */
        uint32_t plays;
        uint32_t hashes;                        /* LEARN: 1: say the policy's digest */
        /* ROLLOUT, a learner that acts: 1: learn when all rollouts of the round are taken; then the next
         * version goes to next_bank */
        uint32_t learns, next_bank;
} Order;

typedef struct Answer {         /* written by the worker before done; hostile when it comes from an actor */
        uint32_t fault;                         /* Fault */
        int32_t detail;
        /* ROLLOUT: 1: it went on and learned, and this is LEARN's answer as well */
        uint32_t learned, pad;
        uint64_t policy_version;                /* LEARN, RESTORE: now published */
        uint64_t n_steps;                       /* EVALUATE: length of the episode */
        double episode_return;                  /* EVALUATE */
        double metrics[ACTORD_METRICS_MAX];     /* EVALUATE: of the episode, as many as the spec names */
        uint64_t round;                         /* RESTORE: the round that the checkpoint closed */
        /* LEARN: sum over phases of the slowest thread's CPU; clamped to what was metered */
        uint64_t slowest_thread_nsec;
        Statistics statistics;                  /* LEARN, RESTORE */
        Spent spent;                            /* ROLLOUT, TAKE, LEARN, with Profile=yes */
        /* of the policy (parameters and normalisation): CHECKPOINT, RESTORE; LEARN, if the order asks for
         * it, since it costs a round of few rows more than its gradient step */
        uint8_t sha256[32];
        uint8_t file_sha256[32];                /* CHECKPOINT: of the file */
        /* of a relay: what the actor has used on its node since its last answer; read by that node's
         * invoker */
        uint64_t node_cpu_nsec, node_memory_peak_bytes;
} Answer;

typedef struct Turn {
        _Atomic uint32_t go;                    /* the invoker writes, the worker waits */
        uint8_t pad0[60];
        _Atomic uint32_t done;                  /* the worker writes = go */
        _Atomic uint32_t asleep;                /* the invoker: ring my bell */
        _Atomic uint32_t parked;                /* the worker: I sleep on `go`, wake me */
        uint8_t pad1[52];
        Order order;
        Answer answer;
} Turn;
static_assert(offsetof(Turn, done) == 64, "one cache line each");

/* learning_nsec of a WorkerPage: the invoker wants no learning any more. */
#define LEARNING_FORBIDDEN UINT64_MAX

typedef struct Acted {          /* by a learner that acts: one actor's invocation, taken or not */
        uint64_t cpu_nsec;                      /* of the thread that acted */
        uint32_t fault;                         /* Fault */
        int32_t detail;
} Acted;

/* Who acts, since when, and with which version, where rounds do not wait for all actors (lib/arrival.h);
 * elsewhere no actor is marked as acting. Times are emulated, since the job's beginning. */
typedef enum FlightState {
        FLIGHT_ABSENT,          /* a start would be a cold one */
        FLIGHT_IDLE,
        FLIGHT_COLD, FLIGHT_WARM, /* acts: was started so */
        _FLIGHT_STATE_MAX,
} FlightState;

/* of one actor; all numbers have 64 bits, as a checkpoint's tensor has them */
typedef struct Flight {
        uint64_t state;
        uint64_t started_nsec;                                  /* since when it acts, or is idle */
        uint64_t policy_version, policy_bank;                   /* while it acts */
} Flight;

typedef struct Arrival {
        uint64_t free_nsec;                     /* the learner has learned from everything that it took */
        uint64_t policy_bank;                   /* of the newest version */
        Flight flights[ACTORS_MAX];
} Arrival;

/* a memfd of its own for each worker, mapped by the invoker and that worker alone; an actor's ends where a
 * learner's begins to tell of all actors */
typedef struct WorkerPage {
        Turn turn;
        ActordEnvSpec spec;                     /* PROBE: hostile when a plugin wrote it */
        TrialPage trial;                        /* of LAUNCH_TRIAL, which has no orders */
        /* which of the learners this is; 0 publishes and keeps checkpoints */
        uint32_t learner;
        _Atomic uint32_t serve_stop;            /* SERVE: all have rolled; LEARNER_FD_ASKS rings with it */
        /* SERVE (out): CLOCK_BOOTTIME of the learner's last look at its actors, about once a second at
         * least */
        _Atomic uint64_t served_nsec;

        /* CHECKPOINT (in), RESTORE (out): invocations of each actor that were accepted; SERVE, ROLLOUT
         * (in): the invocation of each, ORDINAL_NONE: has rolled already */
        uint64_t ordinals[ACTORS_MAX];
        /* CHECKPOINT, ROLLOUT (in): the bank that holds each actor's current snapshots */
        uint32_t banks[ACTORS_MAX];
        Acted acted[ACTORS_MAX];                /* ROLLOUT (out), where the learner acts itself */
        /* ROLLOUT that learns: 0, until one of both writes it: the learner, with CLOCK_BOOTTIME, when it
         * begins to learn; the invoker, with LEARNING_FORBIDDEN, when the job ends before that */
        _Atomic uint64_t learning_nsec;
        Arrival arrival;                        /* CHECKPOINT (in), RESTORE (out) */
} WorkerPage;
#define ACTOR_PAGE_BYTES offsetof(WorkerPage, ordinals)

#define ORDINAL_NONE UINT64_MAX

/* What the learner finds after exec (its stderr is the job's). SEGMENTS: one per actor, in order. */
typedef enum LearnerFd {
        LEARNER_FD_SETTINGS = 3,
        LEARNER_FD_JOB_PAGE,
        LEARNER_FD_POLICY,
        LEARNER_FD_WORKER_PAGE,
        LEARNER_FD_BELL,        /* eventfd */
        LEARNER_FD_STATE,       /* directory */
        LEARNER_FD_CHECKPOINT,  /* file to restore from, or /dev/null */
        /* epoll of the bells that actors ring; the first learner's, when the distribution has it act (10
         * is the program's) */
        LEARNER_FD_ASKS = 11,
        LEARNER_FD_REDUCE,      /* lib/reduce.h; there when there are several learners */
        LEARNER_FD_SEGMENTS = 16,
} LearnerFd;

/* Where one process acts and learns, it is forked like an actor, with the environment loaded, and its
 * program is a module, fused.so, which is loaded for such jobs alone. Everything is
 * mapped already. */
typedef struct FusedStart {
        const JobSettings *settings;
        const JobPage *page;
        WorkerPage *worker;
        void *policy;                           /* for writing */
        void *const *segments;                  /* of all actors */
        const ActordEnv *env;
        int state_fd, checkpoint_fd, bell_fd;
} FusedStart;
/* returns 0 at ORDER_END, or the error for which it could not start */
typedef int (*FusedRun)(const FusedStart *start);
#define FUSED_MODULE "fused.so"
#define FUSED_ENTRANCE "actord_fused_run"
