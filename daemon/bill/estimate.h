/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Estimates the cost and the emulated time of a job's rounds if its parts (acting, learning) had run in
 * other processes. Pure: the same records in the same order give the same estimates.
 *
 * Each row of the result has a usage of its own. It is made from the job's records as they would have been
 * with the row's processes: several learners divide an update, and a single process starts no containers. So
 * a row's bill is made by the same arithmetic as the job's bill, and the row of the job's own distribution
 * gives exactly that bill. */
#pragma once

#include <stdbool.h>
#include "daemon/bill/price.h"
#include "include/fragment.h"

/* X(Distribution_, learners): the rows of the estimate. Each row is a distribution with a number of
 * learners. */
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
        /* the life of the job (one start of its processes) and the round that are in progress */
        uint64_t life;
        Record start; /* the start of the first learner */
        uint32_t n_starts, n_updates;
        /* this life has closed a round, and each usage[] includes the starts of all learners of its row */
        bool started;
        Record updates[GRADIENT_PARTS];
} Estimates;

/* Call this once for each record, in (life, seq) order. Records of work that a later life of the job
 * repeated have `wasted` set. */
void estimates_add(Estimates *estimates, const PriceSheet *sheet, const JobSettings *settings,
                const Record *record);

uint32_t estimate_distribution(uint32_t row);
uint32_t estimate_learners(uint32_t row);

/* Why the job could not have run with the row's distribution, or why its records do not suffice to compute
 * the row; NULL: the row can be computed. */
const char *estimate_unknown(uint32_t row, const JobSettings *settings);
