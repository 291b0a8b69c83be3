/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Two passes over each slot's rows, then one merge: the partial sums of a slot do not depend on which process ran it. */
#include "learner/moments.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"

/* Of Gymnasium's NormalizeObservation and NormalizeReward. */
static const double VARIANCE_EPSILON = 1e-8;

DEFINE_CLEANUP(Moments *, moments_free)

Moments *moments_free(Moments *moments) {
        if (!moments)
                return NULL;

        free(moments->mean);
        free(moments->m2);
        free(moments->scratch);
        free(moments);
        return NULL;
}

int moments_new(uint32_t n, Moments **ret) {
        _cleanup_(moments_freep) Moments *moments = NULL;

        assert(n > 0);
        assert(ret);

        moments = calloc(1, sizeof(*moments));
        if (!moments)
                return -ENOMEM;
        moments->n = n;
        moments->mean = calloc(n, sizeof(double));
        moments->m2 = calloc(n, sizeof(double));
        moments->scratch = calloc(n, 2 * sizeof(double));
        if (!moments->mean || !moments->m2 || !moments->scratch)
                return -ENOMEM;

        *ret = TAKE_PTR(moments);
        return 0;
}

void moments_merge(Moments *moments, double count, const double *mean, const double *m2) {
        double total;

        assert(moments);
        assert(count > 0);

        total = moments->count + count;
        for (uint32_t i = 0; i < moments->n; i++) {
                double delta = mean[i] - moments->mean[i];

                moments->mean[i] += delta * (count / total);
                moments->m2[i] += m2[i] + delta * delta * (moments->count * count / total);
        }
        moments->count = total;
}

double moments_variance(const Moments *moments, uint32_t i) {
        assert(i < moments->n);

        return moments->count > 0 ? moments->m2[i] / moments->count : 1.0;
}

void moments_observe(Moments *moments, const Batch *batch, uint32_t n_actors) {
        double *mean = moments->scratch, *m2 = moments->scratch + moments->n;
        size_t n = moments->n, stride = batch->envs * n;

        assert(moments->n == batch->n_observation);

        for (uint32_t s = 0; s < n_actors * batch->envs; s++) {
                const float *first = batch->observations +
                                     (batch_block(batch, s / batch->envs) + s % batch->envs) * n;

                memset(moments->scratch, 0, 2 * n * sizeof(double));
                for (uint32_t t = 0; t < batch->steps; t++)
                        for (size_t i = 0; i < n; i++)
                                mean[i] += (double) first[t * stride + i];
                for (size_t i = 0; i < n; i++)
                        mean[i] /= batch->steps;
                for (uint32_t t = 0; t < batch->steps; t++)
                        for (size_t i = 0; i < n; i++) {
                                double delta = (double) first[t * stride + i] - mean[i];

                                m2[i] += delta * delta;
                        }
                moments_merge(moments, batch->steps, mean, m2);
        }
}

void moments_scale(const Moments *moments, float *ret_mean, float *ret_inverse_sd) {
        for (uint32_t i = 0; i < moments->n; i++) {
                ret_mean[i] = (float) moments->mean[i];
                ret_inverse_sd[i] = (float) (1.0 / sqrt(moments_variance(moments, i) + VARIANCE_EPSILON));
        }
}
