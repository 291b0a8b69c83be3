/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Measures how much the gradients of different actors' rows differ. Each actor's share of the round gives a
 * gradient. Their mean is the gradient of the whole round, since shares are equal. If there is only one
 * actor, its rows are divided instead, by environments or into successive steps. Successive rows have
 * similar gradients, but there is no better division.
 *
 * The updates themselves do not compute these gradients. A minibatch mixes the actors' rows, so gradients of
 * minibatches differ less. And all of them except the first are taken at other parameters. So the gradient
 * of each share costs extra time, as much as in one epoch. NoiseActors= limits the number of shares. */
#include "learner/curvature/curvature.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "learner/runtime-internal.h"

double noise_scale_estimate(double rows_small, double square_small, double rows_big, double square_big) {
        double gradient = (rows_big * square_big - rows_small * square_small) / (rows_big - rows_small);
        double noise = (square_small - square_big) / (1.0 / rows_small - 1.0 / rows_big);

        return gradient > 0.0 && isfinite(noise / gradient) ? noise / gradient : NAN;
}

enum { PARTS_ALONE = 8 };

/* The rows of the only actor, environment by environment. */
static Rows rows_by_environment(Runtime *rt) {
        const Batch *b = rt->batch;
        uint32_t k = 0;

        for (uint32_t e = 0; e < b->envs; e++)
                for (uint32_t t = 0; t < b->steps; t++)
                        if (batch_active(b, (size_t) t * b->envs + e))
                                b->order[k++] = t * b->envs + e;
        return (Rows){ .order = b->order, .n = k };
}

double runtime_noise_scale(Runtime *rt, Net net, Loss loss, const void *arg) {
        bool alone = rt->n_actors == 1;
        Rows all = alone ? rows_by_environment(rt) : runtime_rows(rt);
        uint32_t share = all.n / (alone ? PARTS_ALONE : rt->n_actors);
        uint32_t n = alone ? PARTS_ALONE : rt->settings->n_noise_actors;
        double sums[SUMS_MAX], small = 0.0, big = 0.0;

        if (share == 0)
                return NAN;
        if (!alone && n > rt->n_actors)
                n = rt->n_actors;

        memset(rt->noise_mean, 0, rt->network->n_parameters * sizeof(double));
        for (uint32_t a = 0; a < n; a++) {
                Rows rows = { .order = all.order + (size_t) a * share, .n = share };

                /* If a number is not finite here, the round's first update has the same problem, and reports
                 * it. */
                if (runtime_gradient(rt, net, rows, loss, arg, sums, SUMS_MAX) < 0)
                        return NAN;
                for (uint32_t i = 0; i < runtime_blocks(rt); i++)
                        small += rt->block_sums[i] / n;
                for (uint64_t i = 0; i < rt->network->n_parameters; i++)
                        rt->noise_mean[i] += (double) rt->gradients[0][i] / n;
        }
        for (uint64_t i = 0; i < rt->network->n_parameters; i++)
                big += rt->noise_mean[i] * rt->noise_mean[i];

        return noise_scale_estimate(share, small, (double) n * share, big);
}
