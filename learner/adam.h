/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* "Adam: A Method for Stochastic Optimization" (Kingma, Ba): a set of parameters with what their
 * optimiser remembers. Numbers are single, the corrections that depend on the step are double. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "learner/kernel/kernels.h"

typedef struct Adam {
        size_t n;
        float *parameters, *m, *v; /* aligned to 64 */
        uint64_t step;
        bool shared; /* these are not its own */
} Adam;

int adam_new(size_t n, Adam **ret);
Adam *adam_free(Adam *adam);
/* Gives its own vectors up, zeros as they are, for some of several learners; m and v NULL: this one is
 * not to apply. */
void adam_share(Adam *adam, float *parameters, float *m, float *v);

/* Counts a step and says what kernel_adam() needs for it, over all parameters or a part of them. */
AdamScalars adam_begin(
                Adam *adam, double rate, double beta1, double beta2, double epsilon, double gradient_scale);
void adam_apply(Adam *adam, const AdamScalars *scalars, const float *gradient, size_t first, size_t n);
