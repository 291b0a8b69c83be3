/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The curvature of a round's objective and loss at the parameters that the round ended with: the ends of
 * their Hessians' spectra, on a sub-sample of its rows. Measured after all that a round computes is
 * computed; nothing else depends on it. */
#pragma once

#include "learner/curvature/hessian.h"
#include "learner/curvature/lanczos.h"
#include "learner/runtime-internal.h"

typedef struct Curvature {
        Runtime *runtime;
        Hessian *hessian;
        Lanczos *lanczos;
        Tape tape;
        uint64_t n_products; /* with Hessians, in the newest round */
} Curvature;

/* For a job that asks for it. 0 or -ENOMEM. */
int curvature_new(Runtime *runtime, Curvature **ret);
Curvature *curvature_free(Curvature *curvature);

/* After a round was learned from. loss: the algorithm's (learner/algorithm/algorithm.h), or NULL.
 * Fills the round's statistics; what could not be measured stays NaN. */
void curvature_measure(Curvature *curvature, void (*loss)(Runtime *runtime, Tape *tape));

/* The ratio of "Nitro: Boosting Distributed Reinforcement Learning with Serverless Computing" (Yu et al.
 * 2024), equation 2, of the objective's Hessian: -max / min. NaN unless it is bent both ways. */
double curvature_ratio(double min, double max);
/* The ratio of the same authors' published code, of the loss's Hessian: -(max + 0.01) / (min - 0.01), the
 * ends of the grid on which they smooth the spectrum. The loss is the objective turned round, so that it
 * is high where the other is low. Negative if min > 0.01, as theirs is; NaN if it is not finite. */
double curvature_ratio_loss(double min, double max);

/* noise.c: "An Empirical Model of Large-Batch Training" (McCandlish et al. 2018), appendix A.1: the simple
 * noise scale tr(covariance) / |gradient|² of a row, from squared norms of gradients over few rows and over
 * many. square_small is a mean over several batches of rows_small rows. In rows; NaN: the noise hides the
 * gradient. */
double noise_scale_estimate(double rows_small, double square_small, double rows_big, double square_big);
