/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a job's records say, added up. Pure: the same records in the same order give the same progress,
 * whether they come from the spool of a running job or, after a restart, from the ledger. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "daemon/distribution.h"
#include "daemon/node-list.h"
#include "daemon/bill/estimate.h"
#include "daemon/bill/price.h"
#include "daemon/scheduler/scheduler.h"

#define PROGRESS_FAULTS_KEPT 64u
#define PROGRESS_CURVE_MAX   1024u

typedef struct ProgressFault {
        uint64_t life, seq, round;
        uint32_t actor, fault;
        int32_t detail;
} ProgressFault;

/* X(name): what has accrued since the job's beginning, as of a round's end. The names of GetSeries.
 * learner_s: of emulated_s, the learner's updates; startup_s: billed for start-up, emulated seconds times
 * allocation; cost_evaluation: of the full total. */
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

        /* of the round in flight: its rollouts and update are told when it closes */
        uint64_t n_rollouts, rollouts_nsec, slowest_nsec, update_nsec;
        double training_cost; /* full total without evaluations, before it */
        DistributionMeter distribution;
        Estimates estimates;

        bool started; /* this life */
        uint32_t level, limits_missing;
        uint64_t checkpoint_life; /* that wrote the newest checkpoint; 0: none did */
        uint64_t closed_life;     /* the newest that closed a round; 0: none did */
        uint64_t n_lacking;       /* lives since the newest checkpoint that the host's lacks have ended */

        bool target_reached;
        uint64_t target_steps, target_wall_nsec;

        /* Welford's running sums of the newest evaluation, as far as it has come. */
        uint64_t evaluation_life, evaluation_round, n_evaluations;
        double evaluation_mean, evaluation_squares;
        double evaluation_metrics[ACTORD_METRICS_MAX];     /* their means in that evaluation; NaN: none */
        uint64_t n_evaluation_metrics[ACTORD_METRICS_MAX]; /* episodes that have them */
        double evaluation_sd;                              /* as the round says that it closed; NaN before */

        /* The environment's metrics of an episode, in its order: names, and means over the episodes that
         * ended in the newest round that has some; NaN: none did. */
        uint32_t n_metrics;
        char metric_names[ACTORD_METRICS_MAX][ACTORD_METRIC_BYTES];
        double metrics[ACTORD_METRICS_MAX];

        uint64_t life_cpu_nsec;     /* that records of this life claim */
        bool lost;                  /* this life, whose invoker died without a last record */
        int32_t lost_error;         /* what kept its invoker from beginning, an errno; 0: it is not known */
        uint32_t n_lives_unmetered; /* those that used something which no counter says */
        bool ended;                 /* this life */
        uint32_t end, end_fault, end_actor;
        int32_t end_detail;
        uint8_t policy_sha256[32];
        bool has_policy;
        uint64_t scope_cpu_nsec; /* of all lives that are over */
        bool scope_unknown;      /* of one at least */

        NodeList nodes; /* of a cluster */

        uint64_t n_faults;
        ProgressFault faults[PROGRESS_FAULTS_KEPT]; /* fault i lies at i % kept */

        /* What had accrued at the end of rounds, thinned by doubling the stride whenever it is full. */
        ProgressPoint *curve;
        size_t n_curve;
        uint64_t curve_stride;
} Progress;

void progress_init(Progress *progress);
void progress_done(Progress *progress);

/* Records come in (life, seq) order, each once. */
void progress_add(Progress *progress, const PriceSheet *sheet, const JobSettings *settings,
                const Record *record);

/* Whether the newest life of a job that has closed rounds ended before its own first round, because its
 * learner or its invoker lacked something of the host that may be there later. */
bool progress_lacked(const Progress *progress);

/* Costs and time accrued at the end of a round, interpolated between two points of the curve. */
Accrual progress_at(const Progress *progress, uint64_t round);

/* CPU time by cgroups over all lives; 0: the last life still runs, or not all of them were metered. */
uint64_t progress_scope_cpu_nsec(const Progress *progress);

/* Sample standard deviation of the evaluation episodes; NaN below two. */
double progress_evaluation_deviation(const Progress *progress);

/* "the learner was killed by signal 9". */
char *fault_sentence_of(uint32_t actor, uint32_t fault, int32_t detail, char ret[320]);

/* Which records are waste: of a life that another followed, what lies beyond the newest checkpoint by
 * then. Fed with all records once, asked afterwards. A checkpoint that comes as waste was found damaged,
 * and does not count. */
#define WASTE_LIVES_MAX 4096u
typedef struct WasteMap {
        uint64_t n_lives;
        uint64_t *checkpoint_rounds; /* newest, as of the end of life i + 1 */
} WasteMap;
void waste_map_done(WasteMap *map);
int waste_map_add(WasteMap *map, const Record *record);
bool waste_map_is_waste(const WasteMap *map, uint64_t current_life, const Record *record);
