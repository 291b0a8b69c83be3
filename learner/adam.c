/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The order of operations is PyTorch's. The bias corrections are in the step size and under the root, and
 * epsilon is outside of the root. */
#include "learner/adam.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/doubles.h"

DEFINE_CLEANUP(Adam *, adam_free)

Adam *adam_free(Adam *adam) {
        if (!adam)
                return NULL;

        if (!adam->shared) {
                free(adam->parameters);
                free(adam->m);
                free(adam->v);
        }
        free(adam);
        return NULL;
}

void adam_share(Adam *adam, float *parameters, float *m, float *v) {
        assert(adam && !adam->shared);
        assert(parameters && !m == !v);

        free(adam->parameters);
        free(adam->m);
        free(adam->v);
        adam->parameters = parameters;
        adam->m = m;
        adam->v = v;
        adam->shared = true;
}

static float *floats_new(size_t n) {
        size_t bytes = (n * sizeof(float) + 63) / 64 * 64;
        float *x = aligned_alloc(64, bytes);

        return x ? memset(x, 0, bytes) : NULL;
}

int adam_new(size_t n, Adam **ret) {
        _cleanup_(adam_freep) Adam *adam = NULL;

        assert(n > 0);
        assert(ret);

        adam = calloc(1, sizeof(*adam));
        if (!adam)
                return -ENOMEM;
        adam->n = n;
        adam->parameters = floats_new(n);
        adam->m = floats_new(n);
        adam->v = floats_new(n);
        if (!adam->parameters || !adam->m || !adam->v)
                return -ENOMEM;

        *ret = TAKE_PTR(adam);
        return 0;
}

AdamScalars adam_begin(
                Adam *adam, double rate, double beta1, double beta2, double epsilon, double gradient_scale) {
        assert(adam);

        adam->step++;
        return (AdamScalars){
                .step_size = rate / (1.0 - double_power(beta1, adam->step)),
                .beta1 = beta1,
                .beta2 = beta2,
                .epsilon = epsilon,
                .root_correction = sqrt(1.0 - double_power(beta2, adam->step)),
                .gradient_scale = gradient_scale,
        };
}

void adam_apply(Adam *adam, const AdamScalars *scalars, const float *gradient, size_t first, size_t n) {
        assert(first + n <= adam->n);
        assert(adam->m && adam->v);

        kernel_adam(adam->parameters + first, adam->m + first, adam->v + first, gradient + first, n,
                        scalars);
}
