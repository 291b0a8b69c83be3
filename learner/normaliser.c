/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Computes mean and variance of one slot's rows in two passes, and then merges them into the running ones.
 * The sums of a slot do not depend on the process that ran the slot. */
#include "learner/normaliser.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"

/* as in Gymnasium's NormalizeObservation and NormalizeReward */
static const double VARIANCE_EPSILON = 1e-8;

DEFINE_CLEANUP(Normaliser *, normaliser_free)

Normaliser *normaliser_free(Normaliser *normaliser) {
        if (!normaliser)
                return NULL;

        free(normaliser->mean);
        free(normaliser->m2);
        free(normaliser->scratch);
        free(normaliser);
        return NULL;
}

int normaliser_new(uint32_t n, Normaliser **ret) {
        _cleanup_(normaliser_freep) Normaliser *normaliser = NULL;

        assert(n > 0);
        assert(ret);

        normaliser = calloc(1, sizeof(*normaliser));
        if (!normaliser)
                return -ENOMEM;
        normaliser->n = n;
        normaliser->mean = calloc(n, sizeof(double));
        normaliser->m2 = calloc(n, sizeof(double));
        normaliser->scratch = calloc(n, 2 * sizeof(double));
        if (!normaliser->mean || !normaliser->m2 || !normaliser->scratch)
                return -ENOMEM;

        *ret = TAKE_PTR(normaliser);
        return 0;
}

void normaliser_merge(Normaliser *normaliser, double count, const double *mean, const double *m2) {
        double total;

        assert(normaliser);
        assert(count > 0);

        total = normaliser->count + count;
        for (uint32_t i = 0; i < normaliser->n; i++) {
                double delta = mean[i] - normaliser->mean[i];

                normaliser->mean[i] += delta * (count / total);
                normaliser->m2[i] += m2[i] + delta * delta * (normaliser->count * count / total);
        }
        normaliser->count = total;
}

double normaliser_variance(const Normaliser *normaliser, uint32_t i) {
        assert(i < normaliser->n);

        return normaliser->count > 0 ? normaliser->m2[i] / normaliser->count : 1.0;
}

static bool step_active(const Batch *batch, uint32_t t, uint32_t s) {
        return batch_active(batch, batch_step_row(batch, t, s));
}

/* The number of the round's steps in which the agent of slot s is present. */
static uint32_t steps_active(const Batch *batch, uint32_t s) {
        uint32_t n = 0;

        for (uint32_t t = 0; t < batch->steps; t++)
                n += step_active(batch, t, s);
        return n;
}

void normaliser_observe(Normaliser *normaliser, const Batch *batch, uint32_t n_actors) {
        double *mean = normaliser->scratch, *m2 = normaliser->scratch + normaliser->n;
        size_t n = normaliser->n, stride = batch->envs * n;

        assert(normaliser->n == batch->n_observation);

        for (uint32_t s = 0; s < n_actors * batch->envs; s++) {
                const float *first = batch->observations +
                                     (batch_block(batch, s / batch->envs) + s % batch->envs) * n;

                uint32_t n_steps = steps_active(batch, s);

                if (n_steps == 0)
                        continue;
                memset(normaliser->scratch, 0, 2 * n * sizeof(double));
                for (uint32_t t = 0; t < batch->steps; t++)
                        for (size_t i = 0; i < n && step_active(batch, t, s); i++)
                                mean[i] += (double) first[t * stride + i];
                for (size_t i = 0; i < n; i++)
                        mean[i] /= n_steps;
                for (uint32_t t = 0; t < batch->steps; t++)
                        for (size_t i = 0; i < n && step_active(batch, t, s); i++) {
                                double delta = (double) first[t * stride + i] - mean[i];

                                m2[i] += delta * delta;
                        }
                normaliser_merge(normaliser, n_steps, mean, m2);
        }
}

void normaliser_scale(const Normaliser *normaliser, float *ret_mean, float *ret_inverse_sd) {
        for (uint32_t i = 0; i < normaliser->n; i++) {
                ret_mean[i] = (float) normaliser->mean[i];
                ret_inverse_sd[i] =
                                (float) (1.0 / sqrt(normaliser_variance(normaliser, i) + VARIANCE_EPSILON));
        }
}
