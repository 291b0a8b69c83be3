/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The cost and the emulated time that the rounds of a job would have had if its fragments had run elsewhere.
 * Pure: the same records in the same order give the same estimates.
 *
 * Each row is a usage of its own, made of the job's records as they would have been: several learners
 * divide an update, one process starts no containers. So a bill of a row is made by the same arithmetic
 * as the job's, and of the distribution that a job did run under it is the job's bill. */
#pragma once

#include <stdbool.h>
#include "daemon/bill/price.h"
#include "include/fragment.h"

/* X(Distribution_, learners): the rows. */
#define ESTIMATES(X) \
        X(COARSE, 1) X(FINE, 1) X(ENVIRONMENTS, 1) X(FUSED, 1) X(MULTI, 2) X(MULTI, 4) X(MULTI, 8)

typedef enum EstimateRow {
#define X(name, n) ESTIMATE_##name##_##n,
        ESTIMATES(X)
#undef X
                        _ESTIMATE_MAX,
} EstimateRow;

typedef struct Estimates {
        Usage usage[_ESTIMATE_MAX];
        /* of the life and the round that go on */
        uint64_t life;
        Record start; /* of the first learner */
        uint32_t n_starts, n_updates;
        bool started; /* every row has as many starts as learners */
        Record updates[GRADIENT_PARTS];
} Estimates;

/* Records come in (life, seq) order, each once; those of lives that are over with `wasted`. */
void estimates_add(Estimates *estimates, const PriceSheet *sheet, const JobSettings *settings,
                const Record *record);

uint32_t estimate_distribution(uint32_t row);
uint32_t estimate_learners(uint32_t row);

/* Why a row cannot be known from this job's records, or could not have run; NULL: it is known. */
const char *estimate_unknown(uint32_t row, const JobSettings *settings);
