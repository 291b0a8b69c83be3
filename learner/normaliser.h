/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Running mean and variance of vectors, in double precision, from partial sums that are merged in a fixed
 * order: "Updating Formulae and a Pairwise Algorithm for Computing Sample Variances" (Chan, Golub,
 * LeVeque). */
#pragma once

#include <stdint.h>

#include "learner/store/batch.h"

typedef struct Normaliser {
        uint32_t n;
        double count;
        double *mean, *m2; /* m2: the sum of squared deviations */
        double *scratch;   /* [2 * n] */
} Normaliser;

int normaliser_new(uint32_t n, Normaliser **ret);
Normaliser *normaliser_free(Normaliser *normaliser);

void normaliser_merge(Normaliser *normaliser, double count, const double *mean, const double *m2);
double normaliser_variance(const Normaliser *normaliser, uint32_t i); /* 1 before the first number */

/* Merges the observations of the first n_actors actors of the batch, slot by slot. Only observations from
 * which actions were chosen count. */
void normaliser_observe(Normaliser *normaliser, const Batch *batch, uint32_t n_actors);
/* Returns the two arrays that a policy version contains: the means, and 1 / sqrt(variance + 1e-8). */
void normaliser_scale(const Normaliser *normaliser, float *ret_mean, float *ret_inverse_sd);
