/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Policy=auto of [Distribution]: the first rounds are measured, and what they were bound by says where the
 * rest of the job runs. Pure: records go in, a choice and a sentence come out. All distributions that it
 * chooses from end with the same policy, so a job may change over in the middle.
 *
 * Times are on the clock that the job is billed by. Under Clock=model these are the emulated times of
 * records, so the choice depends on the job and the number of CPUs alone. Under Clock=metered they are
 * what this host's wall clock and meters said. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "include/record.h"
#include "include/settings.h"

typedef struct DistributionFacts { /* sums over the rounds that were measured */
        uint64_t n_rounds, n_steps, n_invocations;
        uint64_t round_nsec;   /* from the first order to the end of the update: evaluations are beside it */
        uint64_t learner_nsec; /* the update's own time: its slowest thread's */
        /* that the learner's update lasted longer than that, on this host; 0 under a model */
        uint64_t waiting_nsec;
        uint64_t actors_nsec;  /* of all actors together */
        uint64_t slowest_nsec; /* of the slowest one of each round */
        uint64_t start_nsec;   /* of the newest life: from its beginning to the end of its first round */
} DistributionFacts;

typedef struct DistributionMeter {
        DistributionFacts facts;
        /* of the life and the round that go on */
        uint64_t life, born_nsec, acted_nsec, updated_nsec;
        DistributionFacts round;
        bool warm; /* a round of this life was closed: what starts has started */
} DistributionMeter;

typedef struct DistributionInput {
        const JobSettings *settings;
        const DistributionFacts *facts;
        uint32_t distribution;   /* that the facts are of: coarse or fused */
        uint64_t n_env_steps;    /* done so far */
        uint32_t n_cpus;         /* of this host, for us */
        uint32_t n_learners_max; /* that the price sheet has a price for; UINT32_MAX: any number */
} DistributionInput;

typedef struct DistributionChoice {
        uint32_t distribution, n_learners;
        bool changes;
        double now_nsec, then_nsec; /* of a round: as measured, and as expected */
        char why[240];              /* to follow "since" */
} DistributionChoice;

/* Records come in (life, seq) order, each once; those of lives that are over with `wasted`. */
void distribution_measure(DistributionMeter *meter, const JobSettings *settings, const Record *record);

/* Whether enough was measured to choose by. */
bool distribution_measured(const DistributionFacts *facts, const JobSettings *settings);

void distribution_decide(const DistributionInput *input, DistributionChoice *ret);

/* The time that each of n learners takes for an update of n_rows that a single one does in one_nsec, on the
 * clock that the job is billed by. */
double distribution_learner_nsec(
                const JobSettings *settings, double one_nsec, uint32_t n_learners, double n_rows);

/* The other way round: what one would take. */
double distribution_alone_nsec(const JobSettings *settings, double nsec, uint32_t n_learners, double n_rows);
