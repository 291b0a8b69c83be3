/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Two ways to initialise a network. Orthogonal, as in "Exact solutions to the nonlinear dynamics of learning
 * in deep linear neural networks" (Saxe et al.): normal numbers are made orthonormal and multiplied by the
 * layer's gain; biases are 0. Gram and Schmidt's method is applied twice, so that rounding does not matter.
 * Uniform, as in PyTorch's layers: weights and biases are uniform within 1/sqrt(inputs). */
#include "learner/init.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "learner/kernel/kernels.h"
#include "lib/cleanup.h"
#include "lib/rng.h"

static double dot(const double *a, const double *b, size_t n) {
        double sum = 0.0;

        for (size_t i = 0; i < n; i++)
                sum += a[i] * b[i];
        return sum;
}

/* Makes the rows of x [rows][n] orthonormal, rows <= n. The parts along all earlier rows are subtracted from
 * each row, twice. The first time, a group of rows shares the work for the rows before the group. group
 * [n][KERNEL_GROUP]: scratch. */
static void rows_orthonormalise(double *x, size_t rows, size_t n, double *group) {
        for (size_t first = 0; first < rows; first += KERNEL_GROUP) {
                size_t end = first + KERNEL_GROUP < rows ? first + KERNEL_GROUP : rows;

                for (size_t k = 0; k < n; k++)
                        for (size_t r = 0; r < KERNEL_GROUP; r++)
                                group[k * KERNEL_GROUP + r] = first + r < end ? x[(first + r) * n + k] : 0.0;
                kernel_clear_group(group, x, first, n);
                for (size_t i = first; i < end; i++)
                        for (size_t k = 0; k < n; k++)
                                x[i * n + k] = group[k * KERNEL_GROUP + (i - first)];

                for (size_t i = first; i < end; i++) {
                        double *a = x + i * n, norm;

                        kernel_clear_row(a, x + first * n, i - first, n);
                        kernel_clear_row(a, x, i, n);
                        norm = sqrt(dot(a, a, n));
                        for (size_t k = 0; k < n; k++)
                                a[k] /= norm;
                }
        }
}

static int layer_init_orthogonal(const Layer *l, ActordRandom *random, float *parameters) {
        bool wide = l->n_units <= l->n_reads;
        size_t rows = wide ? l->n_units : l->n_reads, n = wide ? l->n_reads : l->n_units;
        _cleanup_free_ double *x = calloc(rows, n * sizeof(double));
        _cleanup_free_ double *group = calloc(KERNEL_GROUP, n * sizeof(double));

        if (!x || !group)
                return -ENOMEM;

        for (size_t i = 0; i < rows * n; i++)
                x[i] = actord_random_normal(random);
        rows_orthonormalise(x, rows, n, group);

        for (size_t o = 0; o < l->n_units; o++)
                for (size_t i = 0; i < l->n_reads; i++)
                        parameters[l->weight_at + o * l->n_reads + i] =
                                        (float) (l->init_gain * (wide ? x[o * n + i] : x[i * n + o]));
        for (size_t o = 0; o < l->n_units; o++)
                parameters[l->bias_at + o] = 0.0f;
        return 0;
}

static void layer_init_uniform(const Layer *l, ActordRandom *random, float *parameters) {
        double bound = 1.0 / sqrt(l->n_reads);

        for (size_t i = 0; i < (size_t) l->n_units * l->n_reads; i++)
                parameters[l->weight_at + i] = (float) actord_random_uniform(random, -bound, bound);
        for (size_t o = 0; o < l->n_units; o++)
                parameters[l->bias_at + o] = (float) actord_random_uniform(random, -bound, bound);
}

int parameters_init(const JobSettings *settings, const Network *network, uint32_t number, uint32_t learner,
                uint32_t n_learners, float *ret) {
        int r;

        assert(settings);
        assert(network);
        assert(learner < n_learners);
        assert(ret);

        for (uint32_t i = learner; i < network->n_layers; i += n_learners) {
                const Layer *l = &network->layers[i];
                ActordRandom random;

                if (l->kind == LAYER_PARAMETER) {
                        for (uint32_t o = 0; o < l->n_out; o++)
                                ret[l->bias_at + o] = (float) settings->log_std_init;
                        continue;
                }

                random_begin(&random, settings->seed, RANDOM_INIT, number * LAYERS_MAX + i, 0, 0);
                if (!settings->orthogonal_init)
                        layer_init_uniform(l, &random, ret);
                else {
                        r = layer_init_orthogonal(l, &random, ret);
                        if (r < 0)
                                return r;
                }
        }
        return 0;
}
