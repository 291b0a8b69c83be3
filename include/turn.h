/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* invoker <-> worker (an actor's container, or the learner): an order and its answer, in one page of shared
 * memory per worker. Both kinds of worker use the same page, since a learner's update is an invocation, too.
 * The worker sleeps on `go` (a futex; it spins first if it expects an order soon). The invoker sleeps in
 * epoll on one eventfd for each worker, the worker's bell. A worker rings its bell only while `asleep` is
 * set; the invoker clears it only while it spins. Only lib/turn.c uses these words.
 *
 *   invoker: order, go = n             worker: waits until go != done
 *   worker: answer, done = go, bell    invoker: sees done == go, reads and checks the answer */
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
        ORDER_PROBE,            /* actor: load the environment, and write its spec into the worker page */
        /* actor: act and step, or step and ask for actions. A learner that acts: do this for each actor that
         * the page names, take the rollouts and, if the order says so, continue as for LEARN */
        ORDER_ROLLOUT,
        ORDER_EVALUATE,         /* actor: play one whole episode, `ordinal`, on evaluation streams */
        /* learner: act for actors 0 .. n_actors - 1, step by step, until the page says stop */
        ORDER_SERVE,
        ORDER_TAKE,             /* learner: check and copy one actor's rollout; the answer is the verdict */
        ORDER_LEARN,            /* learner: update and publish policy_version + 1 */
        ORDER_CHECKPOINT,       /* learner: write the job's whole state into one file */
        /* learner: read parameters from a file, snapshots into the segments (bank 0), ordinals into the
         * page */
        ORDER_RESTORE,
        ORDER_END,              /* exit with status 0 */
        _ORDER_KIND_MAX,
} OrderKind;

typedef struct Order {          /* written by the invoker before go */
        uint32_t kind, attempt;
        uint64_t round;
        /* ROLLOUT, TAKE: the actor's invocation, from 0; EVALUATE: the episode; LEARN: the update */
        uint64_t ordinal;
        /* the version to act with; TAKE: the version that acted; otherwise the newest */
        uint64_t policy_version;
        /* ROLLOUT, TAKE: the actor whose segment is used; EVALUATE: the number under which the container
         * plays */
        uint32_t actor;
        /* ROLLOUT: the bank to read, while the other one is written; TAKE: the bank that the ROLLOUT read */
        uint32_t snapshot_bank;
        /* LEARN: how many rollouts of the round were taken; SERVE, and ROLLOUT for a learner that acts: the
         * actors are 0 .. n_actors - 1 */
        uint32_t n_actors;
        uint32_t remote;                        /* ROLLOUT: 1: ask the learner for each action */
        /* the bank of policy_version; LEARN: the bank for the next version */
        uint32_t policy_bank;
        /* CHECKPOINT: 1: the file is the job's last, and may use the space that is reserved for it; RESTORE:
         * 1: reserve that space */
        uint32_t last;
        /* RESTORE: 1: the policy is only played and not trained, so the slots' state in the file is skipped
         * if it has another shape than the job's */
        uint32_t plays;
        /* LEARN: 1: report the policy's digest; TAKE: 1: report the digest of the copy of the rollout */
        uint32_t hashes;
        /* ROLLOUT, for a learner that acts: 1: learn when all rollouts of the round are taken; then the next
         * version goes to next_bank */
        uint32_t learns, next_bank;
} Order;

typedef struct Answer {         /* the worker writes it before `done`; an actor's answer may be hostile */
        uint32_t fault;                         /* Fault */
        int32_t detail;
        /* ROLLOUT: 1: the learner went on and learned, so this is the answer to LEARN, too */
        uint32_t learned, pad;
        uint64_t policy_version;                /* LEARN, RESTORE: the version that is published now */
        uint64_t n_steps;                       /* EVALUATE: length of the episode */
        double episode_return;                  /* EVALUATE */
        /* EVALUATE: the episode's metrics, as many as the spec names */
        double metrics[ACTORD_METRICS_MAX];
        uint64_t round;                         /* RESTORE: the round that the checkpoint closed */
        /* LEARN: the CPU time of each phase's slowest thread, summed over phases; at most the metered
         * time */
        uint64_t slowest_thread_nsec;
        Statistics statistics;                  /* LEARN, RESTORE */
        Spent spent;                            /* ROLLOUT, TAKE, LEARN, with Profile=yes */
        /* the hash of the policy (parameters and normalisation): CHECKPOINT, RESTORE; LEARN only if the
         * order asks for it: with few rows, the hash takes longer than the gradient step. TAKE, if the order
         * asks for it: the hash of the rollout that was copied */
        uint8_t sha256[32];
        uint8_t file_sha256[32];                /* CHECKPOINT: of the file */
        /* for a relay: the actor's CPU time since its last answer, and its peak memory, as read by its
         * node's invoker */
        uint64_t node_cpu_nsec, node_memory_peak_bytes;
} Answer;

typedef struct Turn {
        _Atomic uint32_t go;                    /* counts orders; the worker waits while it equals `done` */
        uint8_t pad0[60];
        _Atomic uint32_t done;                  /* with its answer, the worker copies `go` here */
        _Atomic uint32_t asleep;                /* the invoker may sleep, and wants to hear the bell */
        _Atomic uint32_t parked;                /* the worker sleeps on `go`, and wants a wake-up */
        uint8_t pad1[52];
        Order order;
        Answer answer;
} Turn;
static_assert(offsetof(Turn, done) == 64, "one cache line each");

/* A value of learning_nsec in a WorkerPage: the invoker wants no further learning. */
#define LEARNING_FORBIDDEN UINT64_MAX

typedef struct Acted {          /* a learner that acts reports here on one actor's invocation, whether or
                                 * not it has taken the rollout */
        uint64_t cpu_nsec;                      /* the CPU time of the thread that acted */
        uint32_t fault;                         /* Fault */
        int32_t detail;
} Acted;

/* For rounds that do not wait for all actors (lib/arrival.h): which actors act, since when, and with which
 * version. In other jobs no actor is marked as acting. Times are emulated times since the job's
 * beginning. */
typedef enum FlightState {
        FLIGHT_ABSENT,          /* a start would be cold */
        FLIGHT_IDLE,
        FLIGHT_COLD, FLIGHT_WARM, /* it acts, after a cold or a warm start */
        _FLIGHT_STATE_MAX,
} FlightState;

/* the state of one actor; all numbers have 64 bits, like a checkpoint's tensor */
typedef struct Flight {
        uint64_t state;
        uint64_t started_nsec;                                  /* since when it has been acting, or idle */
        uint64_t policy_version, policy_bank;                   /* while it acts */
} Flight;

typedef struct Arrival {
        /* the time at which the learner has learned from everything that it took */
        uint64_t free_nsec;
        uint64_t policy_bank;                   /* the bank of the newest version */
        Flight flights[ACTORS_MAX];
} Arrival;

/* a memfd for each worker; only the invoker and that worker map it. A learner's page has more parts at its
 * end, in which it reports on all actors; an actor's page ends before them */
typedef struct WorkerPage {
        Turn turn;
        ActordEnvSpec spec;                     /* PROBE: hostile if a plugin wrote it */
        TrialPage trial;                        /* for LAUNCH_TRIAL, which has no orders */
        /* the number of this learner; number 0 publishes and writes checkpoints */
        uint32_t learner;
        /* SERVE: 1: all actors have ended their rollouts. The invoker writes it, and also signals
         * LEARNER_FD_ASKS. */
        _Atomic uint32_t serve_stop;
        /* SERVE (out): CLOCK_BOOTTIME of the learner's last look at its actors, at least about once a
         * second */
        _Atomic uint64_t served_nsec;

        /* CHECKPOINT (in), RESTORE (out): how many invocations of each actor were accepted; SERVE, ROLLOUT
         * (in): the invocation of each actor; ORDINAL_NONE: its rollout has ended already */
        uint64_t ordinals[ACTORS_MAX];
        /* CHECKPOINT, ROLLOUT (in): the bank with each actor's current snapshots */
        uint32_t banks[ACTORS_MAX];
        Acted acted[ACTORS_MAX];                /* ROLLOUT (out), if the learner itself acts */
        /* ROLLOUT with learning: 0 at first. When the learner begins to learn, it writes CLOCK_BOOTTIME. If
         * the job ends before that, the invoker writes LEARNING_FORBIDDEN */
        _Atomic uint64_t learning_nsec;
        Arrival arrival;                        /* CHECKPOINT (in), RESTORE (out) */
} WorkerPage;
#define ACTOR_PAGE_BYTES offsetof(WorkerPage, ordinals)

#define ORDINAL_NONE UINT64_MAX

/* The learner's descriptors after exec; its stderr is the job's. SEGMENTS: one for each actor, in order. */
typedef enum LearnerFd {
        LEARNER_FD_SETTINGS = 3,
        LEARNER_FD_JOB_PAGE,
        LEARNER_FD_POLICY,
        LEARNER_FD_WORKER_PAGE,
        LEARNER_FD_BELL,        /* eventfd */
        LEARNER_FD_STATE,       /* directory */
        LEARNER_FD_CHECKPOINT,  /* the file to restore from, or /dev/null */
        /* only for the first learner, if the distribution lets it act: an epoll of the eventfds that actors
         * signal. Descriptor 10 is the program's own file, for execveat(). */
        LEARNER_FD_ASKS = 11,
        LEARNER_FD_REDUCE,      /* lib/reduce.h; only if there are several learners */
        LEARNER_FD_SEGMENTS = 16,
} LearnerFd;

/* A process that acts and learns is forked like an actor, with the environment loaded. Its program is a
 * module, fused.so, which is loaded only for such jobs. The invoker has mapped all memory that it needs. */
typedef struct FusedStart {
        const JobSettings *settings;
        const JobPage *page;
        WorkerPage *worker;
        void *policy;                           /* mapped for writing */
        void *const *segments;                  /* of all actors */
        const ActordEnv *env;
        int state_fd, checkpoint_fd, bell_fd;
} FusedStart;
/* Returns 0 at ORDER_END, or the error because of which the process could not start. */
typedef int (*FusedRun)(const FusedStart *start);
#define FUSED_MODULE "fused.so"
#define FUSED_ENTRANCE "actord_fused_run"
