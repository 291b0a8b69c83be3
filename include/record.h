/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A job reports to the daemon by records only. The invoker appends records to the spool, a bounded ring in a
 * memfd. The daemon commits them to the ledger, and acknowledges their sequence numbers. Quantities are in
 * base units; records have no money. A life of a job is the time of one invoker, from its start to its
 * end. */
#pragma once

/* Tables and layouts are aligned by hand. */
/* clang-format off */

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include "include/actord/env.h"

#define RECORD_ABI 7u
#define SPOOL_MAGIC 0x6c6f6f7073636100ull
#define SPOOL_RECORDS 4096u             /* a full spool pauses the job until the daemon has committed */

typedef enum RecordKind {
        /* the job runs. level: its sandbox level; limits_missing: the limits that are not enforced; metered:
         * the start-up of the job itself */
        RECORD_STARTED,
        /* a container or the learner became ready or, with a fault, failed to; metered: its start-up, until
         * its first order */
        RECORD_WORKER,
        RECORD_ROLLOUT,         /* one actor invocation */
        /* one evaluation episode; statistics.evaluation_mean: its return, metered.n_steps: its length */
        RECORD_EVALUATION,
        RECORD_UPDATE,          /* one learner invocation: takes and update together */
        /* a container was kept ready without an order. metered.emulated_nsec: for how long; start to end:
         * the same time by this host's clock */
        RECORD_POOL,
        /* the last record of a round: statistics, and the decision under which it ran; metered: the
         * invoker's own use */
        RECORD_ROUND,
        RECORD_CHECKPOINT,      /* the file is complete; it counts when the ledger has its row */
        /* an attempt that failed, with its reason; its use is in another record, whose `wasted` is 1 */
        RECORD_FAULT,
        /* the last record of a life: end, sha256 of the policy; metered: the use that no other record has */
        RECORD_ENDED,
        /* the end of an evaluation for which its round did not wait. ordinal: the seq of that round's ROUND
         * record; statistics: those of the ROUND record, with the evaluation's added. If the round has a
         * CHECKPOINT, it comes after this record. A job that only evaluates has one, too: ordinal: 0;
         * statistics: those of the checkpoint, with the evaluation's */
        RECORD_EVALUATED,
        /* written by the daemon: the last record of a life whose invoker died without ENDED. metered: the
         * use that the cgroup counted and no record of the life holds; scope_cpu_nsec as in ENDED */
        RECORD_LOST,
        /* after STARTED: the name of a metric of episodes; ordinal is its number, from 0 */
        RECORD_METRIC,
        /* an event of a node of the cluster. ordinal: the node's number; detail: a ClusterEventKind. COST,
         * LOST and GONE also have figures, which the cluster has counted: metered.emulated_nsec is the time
         * of the allocation since the node's last record; metered.memory_reserved_bytes and n_cpus are its
         * size; `use` has the rest */
        RECORD_NODE,
        _RECORD_KIND_MAX, _RECORD_KIND_INVALID = -EINVAL,
} RecordKind;

/* X(name, word, sentence): why an attempt, or the job, failed. `detail` replaces %d in the sentence. */
#define FAULTS(X)                                                                                         \
        X(NONE, "none", "no fault")                                                                       \
        X(KILLED, "killed", "was killed by signal %d")                                                    \
        X(EXITED, "exited", "ended by itself with status %d")                                             \
        X(SANDBOX, "sandbox", "could not be confined: step %d of its sandbox failed")                     \
        X(MEMORY, "out-of-memory", "exceeded its memory limit (%d times)")                                  \
        X(SYSCALL, "forbidden-call", "made a system call that its sandbox forbids (signal %d)")           \
        X(TIMEOUT, "timeout", "did not answer within its TimeoutSec= (%d s)")                             \
        X(LOAD, "load", "could not load its environment")                                                 \
        X(SPEC, "spec", "has an environment whose spec is impossible for this job (field %d)")            \
        X(ENVIRONMENT, "environment", "had an error in its environment (error %d)")                       \
        X(OBSERVATION, "observation", "wrote an observation that is not finite or out of range (row %d)") \
        /* an honest actor does so if the numbers of its policy overflow */                               \
        X(ACTION, "action",                                                                               \
                        ("wrote an action that is not finite or out of range (row %d): if its policy "    \
                         "has diverged, a smaller LearningRate= or MaxGradNorm= may help"))               \
        X(REWARD, "reward", "wrote a reward that is not finite or out of range (row %d)")                 \
        X(LENGTHS, "lengths", "wrote impossible episode ends (row %d)")                                   \
        X(ANSWER, "answer", "sent an invalid answer (%d)")                                                  \
        X(CHECKPOINT, "checkpoint", "could not write or read its checkpoint")                             \
        X(NUMERIC, "numeric", "computed a loss or a parameter that is not finite (update %d)")            \
        X(INTERNAL, "internal", "had an internal error (error %d)")                                     \
        X(ACTING, "acting", "took longer to act than [Actor] TimeoutSec= gives its actors (%d s)")        \
        X(METRIC, "metric", "gave a number beyond 3.4e38 as metric %d of its episode (NaN: it has none)") \
        X(DATASET, "dataset", "could not use the data set of [Learner] Dataset=")                         \
        X(ACTIVE, "active", "wrote neither 0 nor 1 for an agent, or marked no agent as present (row %d)") \
        X(NODE, "node", "was on a node of the cluster that was lost (node %d)")                           \
        X(HOST_MEMORY, "host-memory",                                                                     \
                        ("was killed since memory ran out beyond its own limit: on the host, or in a "    \
                         "cgroup above its own (%d times)"))                                               \
        X(CHANGED, "changed", "changed its rollout after it had answered, while the learners copied it")

typedef enum Fault {
#define X(name, word, sentence) FAULT_##name,
        FAULTS(X)
#undef X
        _FAULT_MAX, _FAULT_INVALID = -EINVAL,
} Fault;

/* X(name, unit): one list for learner, scheduler, SQLite, D-Bus, JSON and plots. NaN: not measured. Only
 * append: checkpoints have them in this order.
 *
 * kl is not D_KL of two consecutive policies. Before each gradient step of the round, the divergence from
 * the policy that acted is estimated, on the rows of the step. kl is the mean of these estimates. So if a
 * round takes one step, kl is 0, except for rounding. For many equal steps in one direction, it is a third
 * of the divergence at the end. This holds for PPO, SIMPPO and MAPPO. For IMPACT, the divergence is from the
 * target network, which need not have acted. NaN: other algorithms do not estimate it, or the round took no
 * step. */
#define STATISTICS(X) LEARNED_STATISTICS(X) METRIC_STATISTICS(X) EVALUATION_METRIC_STATISTICS(X)

#define LEARNED_STATISTICS(X)                                                                           \
        X(return_mean, "reward")        /* last 100 episodes, in the order (round, step, slot) */       \
        X(return_round, "reward")       /* episodes that ended in this round */                         \
        X(evaluation_mean, "reward") X(evaluation_sd, "reward") X(episode_steps, "steps")               \
        X(loss_policy, "1") X(loss_value, "1") X(entropy, "nat") X(kl, "nat") X(clip_fraction, "1")     \
        X(explained_variance, "1") X(gradient_norm, "1") X(learning_rate, "1")                          \
        X(curvature_min, "1") X(curvature_max, "1")     /* of the surrogate objective's Hessian */      \
        X(curvature_ratio, "1")         /* Nitro's R = -max / min, as in its paper */                   \
        X(curvature_loss, "1")          /* of the whole loss: the ratio in Nitro's published code */    \
        X(noise_scale, "rows")          /* of the gradient (McCandlish et al. 2018) */                  \
        X(curvature_products, "rows")   /* what the curvature cost: rows * products of Hessian and vector */

/* Metrics that an environment names (include/actord/env.h), in its order. Each is a mean over the episodes
 * that have the metric. There is one mean for the episodes that ended in this round, and one for the
 * episodes of an evaluation. */
#define METRIC_STATISTICS(X)                                                                            \
        X(metric_0, "own") X(metric_1, "own") X(metric_2, "own") X(metric_3, "own")                     \
        X(metric_4, "own") X(metric_5, "own") X(metric_6, "own") X(metric_7, "own")
#define EVALUATION_METRIC_STATISTICS(X)                                                                 \
        X(evaluation_metric_0, "own") X(evaluation_metric_1, "own") X(evaluation_metric_2, "own")       \
        X(evaluation_metric_3, "own") X(evaluation_metric_4, "own") X(evaluation_metric_5, "own")       \
        X(evaluation_metric_6, "own") X(evaluation_metric_7, "own")

typedef struct Statistics {
#define X(name, unit) double name;
        STATISTICS(X)
#undef X
        uint64_t n_env_steps, n_episodes, policy_version;       /* since the job's beginning */
} Statistics;

typedef struct Metered {                        /* read by the invoker; workers' claims only divide it */
        uint64_t start_nsec, end_nsec;          /* CLOCK_BOOTTIME; for reports */
        uint64_t cpu_nsec;                      /* used since the previous reading of the counter */
        uint64_t memory_peak_bytes;             /* VmHWM since it was last read; 0: not measured */
        uint64_t memory_reserved_bytes;         /* the allocation, which is billed */
        /* computed once, by the invoker (lib/clock.c); all other programs only add it up */
        uint64_t emulated_nsec;
        uint64_t n_steps;                       /* environment steps */
} Metered;

typedef struct Decision {                       /* a scheduler's decision for a round; a replay repeats it */
        uint64_t id;
        /* how many actors act; without Policy=async the round learns from all of them */
        uint32_t n_actors;
        /* Policy=async: 1 + the actor from whose rollout the round learns; 0: all, or the one that comes
         * first */
        uint32_t taken;
} Decision;

/* A decision in 32 bits: n_actors in the low half, taken in the high half. Policy=replay:JOB submits the
 * decisions of another job in this form. */
#define DECISION_ACTORS_MASK 0xffffu
#define DECISION_TAKEN_SHIFT 16u

/* The use of a cluster's node since its last record. */
typedef struct NodeUse {
        uint64_t idle_nsec;                     /* the part of its allocation without orders */
        uint64_t waited_nsec;                   /* from the request to the start, which is not charged */
        uint64_t sent_bytes, received_bytes;    /* counted by the job's own host, before encryption */
        uint64_t billing_milli;                 /* thousandths of a billing unit of the cluster; 0: none */
} NodeUse;

/* include/sandbox.h has the values of limits_missing and level. */
typedef struct Record {
        uint64_t seq, life, round;              /* seq counts from 1 within the life; round from 1 */
        /* the actor (in WORKER and POOL the container); MaxActors and above: it evaluates; UINT32_MAX: the
         * learner. ROUND: the actor whose rollout the round learned from; UINT32_MAX: all actors */
        uint32_t kind, actor;
        uint64_t ordinal;                       /* of the actor's invocation, or of the learner's update */
        uint32_t attempt;                       /* > 0: a retry */
        uint32_t cold;                          /* the container was started for this invocation */
        uint32_t wasted;                        /* its result was thrown away */
        uint32_t fault;
        int32_t detail;                         /* of the fault */
        uint32_t level, limits_missing;         /* STARTED */
        /* ENDED, ROUND: the PlanEnd (include/plan.h) that the invoker saw; otherwise 0 */
        uint32_t end;
        Metered metered;
        /* ROUND: duration of the whole round on the emulated clock */
        uint64_t emulated_round_nsec;
        /* ROLLOUT, EVALUATION, WORKER, POOL: the cluster's node on which the actor ran; its CPU time is not
         * in the job's cgroup. 0: it ran on this host */
        uint32_t node;
        uint32_t n_cpus;                        /* NODE */
        /* NODE; ROUND: only waited_nsec, the part of emulated_round_nsec for which rollouts waited */
        NodeUse use;
        /* ENDED: what the job's whole cgroup has counted in this life, with which the life's records are
         * compared; 0: not known */
        uint64_t scope_cpu_nsec;
        Decision decision;                      /* ROUND: it becomes durable together with its effect */
        Statistics statistics;                  /* ROUND: the learner's, for the rollouts that it took */
        /* CHECKPOINT: the digest of the file; ENDED: of the policy; METRIC: the name, padded with zeros;
         * NODE: its host's name, or the reason of its state, cut and NUL-terminated; WORKER whose
         * environment lacks a package: that package's name */
        uint8_t sha256[32];
} Record;
static_assert(ACTORD_METRIC_BYTES < sizeof(((Record *) NULL)->sha256), "a name fits");
static_assert(sizeof(Record) % 8 == 0, "no tail padding");

/* The ring: the record with number seq is at records[(seq - 1) % n_records]. Only the invoker writes it. */
typedef struct SpoolHead {
        uint64_t magic;
        uint32_t abi, record_bytes;
        uint32_t n_records, reserved;
        _Atomic uint64_t written;               /* the seq of the newest complete record */
        uint64_t pad[4];
} SpoolHead;
static_assert(sizeof(SpoolHead) == 64, "records start on a cache line");
