/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Policy=auto of [Distribution]: the first rounds are measured, and their times decide where the rest of the
 * job runs. Pure: records go in, a choice and a sentence come out. All distributions that it chooses from
 * give the same trained policy, so a job may switch to another one in the middle.
 *
 * Times are on the clock that the job is billed by. Under Clock=model these are the emulated times of
 * records, so the choice depends only on the job and the number of CPUs. Under Clock=metered they are
 * readings of this host's wall clock and meters. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "include/record.h"
#include "include/settings.h"

typedef struct DistributionFacts { /* sums over the rounds that were measured */
        uint64_t n_rounds, n_steps, n_invocations;
        uint64_t round_nsec;   /* from the first order to the end of the update; evaluations do not count */
        uint64_t learner_nsec; /* the update's own time, as its slowest thread took it */
        /* how much longer than learner_nsec the update lasted on this host; 0 under Clock=model */
        uint64_t waiting_nsec;
        uint64_t actors_nsec;  /* time of rollouts, summed over all actors */
        uint64_t slowest_nsec; /* time of the slowest actor's rollout in each round */
        uint64_t start_nsec;   /* from the newest start of the job's processes to their first round's end */
} DistributionFacts;

typedef struct DistributionMeter {
        DistributionFacts facts;
        /* life: the newest life of the job (one start of its processes). born_nsec: when that life began.
         * acted_nsec, updated_nsec: the newest end of an invocation and of an update in the round so far. */
        uint64_t life, born_nsec, acted_nsec, updated_nsec;
        DistributionFacts round;
        bool warm; /* this life has completed a round, so all starts are over */
} DistributionMeter;

typedef struct DistributionInput {
        const JobSettings *settings;
        const DistributionFacts *facts;
        uint32_t distribution; /* the distribution that was measured: coarse or fused */
        uint64_t n_env_steps;  /* environment steps of the job so far */
        uint32_t n_cpus;       /* CPUs of this host that the job may use */
        /* learners that the price sheet has a price for and the user's quota has memory for; UINT32_MAX: any
         * number */
        uint32_t n_learners_max;
} DistributionInput;

typedef struct DistributionChoice {
        uint32_t distribution, n_learners;
        bool changes;
        double now_nsec, then_nsec; /* estimated time of a round: as it is, and as chosen */
        char why[240];              /* a clause to follow "since" */
} DistributionChoice;

/* Call this once for each record, in (life, seq) order. Records of work that a later life of the job
 * repeated have `wasted` set. */
void distribution_measure(DistributionMeter *meter, const JobSettings *settings, const Record *record);

/* Whether enough was measured for a choice. */
bool distribution_measured(const DistributionFacts *facts, const JobSettings *settings);

void distribution_decide(const DistributionInput *input, DistributionChoice *ret);

/* The time that each of n learners needs for an update of n_rows, if a single learner needs one_nsec. Both
 * times are on the clock that the job is billed by. */
double distribution_learner_nsec(
                const JobSettings *settings, double one_nsec, uint32_t n_learners, double n_rows);

/* The inverse of distribution_learner_nsec(): the time that a single learner would need for the update, if
 * each of n_learners needs nsec. */
double distribution_alone_nsec(const JobSettings *settings, double nsec, uint32_t n_learners, double n_rows);
