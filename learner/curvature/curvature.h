/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The curvature of a round's objective and loss, at the parameters at the round's end: the smallest and the
 * largest eigenvalue of their Hessians, on a sub-sample of the round's rows. It is measured at the very end
 * of the round, and nothing in the round depends on it. */
#pragma once

#include "learner/curvature/hessian.h"
#include "learner/curvature/lanczos.h"
#include "learner/runtime-internal.h"

typedef struct Curvature {
        Runtime *runtime;
        Hessian *hessian;
        Lanczos *lanczos;
        Tape tape;
        uint64_t n_products; /* products with Hessians in the newest round */
} Curvature;

/* Call this only if the job's settings ask for curvature. 0 or -ENOMEM. */
int curvature_new(Runtime *runtime, Curvature **ret);
Curvature *curvature_free(Curvature *curvature);

/* Call this after learn(). loss: the algorithm's (learner/algorithm/algorithm.h), or NULL. Fills the round's
 * statistics; values that could not be measured stay NaN. */
void curvature_measure(Curvature *curvature, void (*loss)(Runtime *runtime, Tape *tape));

/* The ratio in "Nitro: Boosting Distributed Reinforcement Learning with Serverless Computing" (Yu et al.
 * 2024), equation 2, of the objective's Hessian: -max / min. NaN unless it has curvature of both signs. */
double curvature_ratio(double min, double max);
/* The ratio in the same authors' published code, of the loss's Hessian: -(max + 0.01) / (min - 0.01). The
 * two numbers of the fraction are the ends of the grid on which that code smooths the spectrum. The loss is
 * the negative objective, so this ratio is high where the other ratio is low. As in that code, the ratio is
 * negative if min > 0.01. NaN: it is not finite. */
double curvature_ratio_loss(double min, double max);

/* noise.c: "An Empirical Model of Large-Batch Training" (McCandlish et al. 2018), appendix A.1: the simple
 * noise scale tr(covariance) / |gradient|², in rows. It is estimated from the squared norms of gradients
 * over few rows and over many rows. square_small is a mean over several batches of rows_small rows. NaN: the
 * noise hides the gradient. */
double noise_scale_estimate(double rows_small, double square_small, double rows_big, double square_big);
