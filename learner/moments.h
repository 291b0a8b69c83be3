/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Running mean and variance of vectors, in double precision, from partial sums that are merged in a fixed order: "Updating Formulae and
 * a Pairwise Algorithm for Computing Sample Variances" (Chan, Golub, LeVeque). */
#pragma once

#include <stdint.h>

#include "learner/batch.h"

typedef struct Moments {
        uint32_t n;
        double count;
        double *mean, *m2; /* m2: sum of squared deviations */
        double *scratch;   /* [2 * n] */
} Moments;

int moments_new(uint32_t n, Moments **ret);
Moments *moments_free(Moments *moments);

void moments_merge(Moments *moments, double count, const double *mean, const double *m2);
double moments_variance(const Moments *moments, uint32_t i); /* 1 before the first number */

/* Merges the observations of the first n_actors blocks that were acted on, slot by slot. */
void moments_observe(Moments *moments, const Batch *batch, uint32_t n_actors);
/* As published: inverse deviations, with 1e-8 added to the variance. */
void moments_scale(const Moments *moments, float *ret_mean, float *ret_inverse_sd);
