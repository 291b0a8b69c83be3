/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The sums of a job's records. Pure: the same records in the same order give the same progress. The records
 * come from the spool of a running job or, after a restart, from the ledger. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "daemon/distribution.h"
#include "daemon/node-list.h"
#include "daemon/bill/estimate.h"
#include "daemon/bill/price.h"
#include "daemon/scheduler/scheduler.h"
#include "lib/slot.h"

#define PROGRESS_FAULTS_KEPT 64u
#define PROGRESS_CURVE_MAX   1024u

typedef struct ProgressFault {
        uint64_t life, seq, round;
        uint32_t actor, fault;
        int32_t detail;
} ProgressFault;

/* X(name): totals from the job's beginning to a round's end, with their names in GetSeries. learner_s: the
 * time of the learner's updates, a part of emulated_s. startup_s: the start-up that is billed, in emulated
 * seconds times allocation. cost_evaluation: a part of the full total. */
/* clang-format off */
#define ACCRUALS(X)                                                        \
        X(wall_s) X(emulated_s) X(learner_s) X(startup_s)                  \
        X(cpu_actors_s) X(cpu_learner_s) X(cpu_control_s) X(cpu_startup_s) \
        X(cost_paper) X(cost_full) X(cost_evaluation)
/* clang-format on */

typedef struct Accrual {
#define X(name) double name;
        ACCRUALS(X)
#undef X
} Accrual;

typedef struct ProgressPoint {
        uint64_t round;
        Accrual accrual;
} ProgressPoint;

typedef struct Progress {
        Usage usage;
        Statistics statistics; /* of the newest closed round */
        RoundFacts facts;      /* of the newest closed round */
        uint64_t life, round;
        uint32_t n_actors;
        uint64_t learner_emulated_nsec;

        /* sums of the round in flight; `facts` gets them when the round ends */
        uint64_t n_rollouts, rollouts_nsec, slowest_nsec, update_nsec;
        double training_cost; /* the full total before that round, without evaluations */
        DistributionMeter distribution;
        Estimates estimates;

        bool started; /* this life has started */
        uint32_t level, limits_missing;
        uint64_t checkpoint_life; /* the life that wrote the newest checkpoint; 0: none did */
        uint64_t closed_life;     /* the newest life that completed a round; 0: none did */
        /* how many lives have ended since the newest checkpoint because the host lacked something for a
         * time, such as memory or disk space (progress_lacked()) */
        uint64_t n_lacking;

        bool target_reached;
        uint64_t target_steps, target_wall_nsec;

        /* Welford's running sums over the episodes of the newest evaluation so far. */
        uint64_t evaluation_life, evaluation_round, n_evaluations;
        double evaluation_mean, evaluation_squares;
        double evaluation_metrics[ACTORD_METRICS_MAX];     /* means over its episodes; NaN: not measured */
        uint64_t n_evaluation_metrics[ACTORD_METRICS_MAX]; /* how many episodes have each metric */
        double evaluation_sd;                              /* known when the round ends; NaN before */

        /* The environment's metrics of an episode, in the environment's order: their names, and their means
         * over the episodes of the newest round in which an episode ended. NaN: no episode has ended yet. */
        uint32_t n_metrics;
        char metric_names[ACTORD_METRICS_MAX][ACTORD_METRIC_BYTES];
        double metrics[ACTORD_METRICS_MAX];

        uint64_t life_cpu_nsec;     /* the CPU time that records of this life claim */
        bool lost;                  /* this life's invoker died without a last record */
        int32_t lost_error;         /* the errno with which the lost invoker failed to start; 0: not known */
        uint32_t n_lives_unmetered; /* lives of which some usage was not measured */
        bool ended;                 /* this life has ended */
        char missing_package[PACKAGE_NAME_BYTES]; /* the package that the environment lacks; "": not known */
        uint32_t end, end_fault, end_actor;
        int32_t end_detail;
        uint8_t policy_sha256[32];
        bool has_policy;
        uint64_t scope_cpu_nsec; /* CPU time by cgroups, of all lives that have ended */
        bool scope_unknown;      /* the cgroup's count of at least one life is not known */

        NodeList nodes; /* nodes of the cluster */

        uint64_t n_faults;
        ProgressFault faults[PROGRESS_FAULTS_KEPT]; /* fault i lies at i % kept */

        /* The totals at the ends of rounds. Whenever the curve is full, every second point is dropped. */
        ProgressPoint *curve;
        size_t n_curve;
        uint64_t curve_stride;
} Progress;

void progress_init(Progress *progress);
void progress_done(Progress *progress);

/* Records come in (life, seq) order, each once. */
void progress_add(Progress *progress, const PriceSheet *sheet, const JobSettings *settings,
                const Record *record);

/* Whether the job has completed rounds, but its newest life ended before its own first round, because the
 * host lacked something that the learner or the invoker needs. */
bool progress_lacked(const Progress *progress);

/* The costs and times at the end of a round, interpolated between two points of the curve. */
Accrual progress_at(const Progress *progress, uint64_t round);

/* The CPU time of all lives, as their cgroups counted it; 0: the last life still runs, or some lives were
 * not metered. */
uint64_t progress_scope_cpu_nsec(const Progress *progress);

/* Sample standard deviation of the evaluation episodes; NaN for fewer than two. */
double progress_evaluation_deviation(const Progress *progress);

/* Returns a sentence such as "the learner was killed by signal 9", in ret. */
char *fault_sentence_of(uint32_t actor, uint32_t fault, int32_t detail, char ret[320]);
/* Like fault_sentence_of(), for the fault with which this life has ended. Also names the package that was
 * missing. */
char *progress_end_sentence(const Progress *progress, char ret[320]);

/* Finds out which records are waste. If a life of the job was followed by another one, its records after the
 * checkpoint at which the other one began are waste. First add all records once, then ask. A checkpoint
 * whose record is marked as wasted was found damaged, and does not count. */
#define WASTE_LIVES_MAX (1u << 20) /* a job gets no later life, since it could not be billed */
typedef struct WasteMap {
        uint64_t n_lives;
        uint64_t *checkpoint_rounds; /* [i]: the round of the newest checkpoint when life i + 1 ended */
} WasteMap;
void waste_map_done(WasteMap *map);
int waste_map_add(WasteMap *map, const Record *record);
bool waste_map_is_waste(const WasteMap *map, uint64_t current_life, const Record *record);
