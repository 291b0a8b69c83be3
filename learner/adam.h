/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* "Adam: A Method for Stochastic Optimization" (Kingma, Ba): a set of parameters with the state of their
 * optimiser. Parameters are floats; the corrections that depend on the step are doubles. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "learner/kernel/kernels.h"

typedef struct Adam {
        size_t n;
        float *parameters, *m, *v; /* aligned to 64 */
        uint64_t step;
        bool shared; /* the vectors lie in memory of several learners, and are not freed */
} Adam;

int adam_new(size_t n, Adam **ret);
Adam *adam_free(Adam *adam);
/* Frees the vectors of this Adam, and uses vectors that several learners share instead. Call this while the
 * old and the new vectors are all zeros. m and v NULL: this learner never applies the optimiser. */
void adam_share(Adam *adam, float *parameters, float *m, float *v);

/* Counts a step, and returns the factors that kernel_adam() needs for this step, for all parameters or a
 * part of them. */
AdamScalars adam_begin(
                Adam *adam, double rate, double beta1, double beta2, double epsilon, double gradient_scale);
void adam_apply(Adam *adam, const AdamScalars *scalars, const float *gradient, size_t first, size_t n);
