/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Let x be the input of a layer, W its weights, V the part of the vector for W, s the slope of the
 * activation, y its output, and d the gradient before it. `bend` is the derivative of s with respect to y,
 * times the gradient after the activation. ' is the derivative along the vector. Then:
 *
 *     forward:   y' = s (V x + W x')
 *     backward:  d' = s (gradient after)' + bend y',   W's part of the product = d' x + d x',
 *                and the input's part: W' d' + V' d (' at a matrix means transposed)
 *
 * This is a second forward and backward pass; y, s, d and bend are known from the first. */
#include "learner/curvature/hessian.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learner/gradient.h"
#include "lib/cleanup.h"
#include "lib/doubles.h"

enum {
        ROWS = HESSIAN_ROWS,
        BLOCK = 16384, /* parameters that one task sums up */
        SUMS = 8,      /* sums side by side, which are added in a fixed order */
};

DEFINE_CLEANUP(Hessian *, hessian_free)

Hessian *hessian_free(Hessian *hessian) {
        if (!hessian)
                return NULL;

        free(hessian->memory);
        free(hessian->choices);
        free(hessian->jets);
        free(hessian);
        return NULL;
}

/* Hands out parts of one array. If there is no array yet, it only counts. */
static double *memory_part(double *memory, size_t *at, size_t n) {
        double *part = memory ? memory + *at : NULL;

        *at += (n + 7) / 8 * 8;
        return part;
}

static size_t hessian_layout(Hessian *h, uint32_t n_shards, uint32_t n_lanes) {
        const Network *network = h->network;
        size_t at = 0, rows = (size_t) n_shards * ROWS;

        h->n_units = 0;
        for (uint32_t i = 0; i < network->n_layers; i++) {
                HessianLayer *l = &h->layers[i];
                size_t n = network->layers[i].n_out;

                l->y = memory_part(h->memory, &at, n * rows);
                l->d = memory_part(h->memory, &at, n * rows);
                l->slope = memory_part(h->memory, &at, n * rows);
                l->bend = memory_part(h->memory, &at, n * rows);
                h->n_units += n;
        }
        h->input = memory_part(h->memory, &at, network->n_observation * rows);
        h->actions = memory_part(h->memory, &at, network->n_action * rows);
        h->parameters = memory_part(h->memory, &at, h->n);
        h->lanes = memory_part(h->memory, &at, n_lanes * h->n);
        h->scratch = memory_part(h->memory, &at, 2 * h->n_units * ROWS * threads_count(h->threads));
        return at;
}

int hessian_new(const Network *network, Threads *threads, uint32_t rows_max, Hessian **ret) {
        _cleanup_(hessian_freep) Hessian *h = NULL;
        uint32_t n_shards, n_lanes;
        size_t n;

        assert(network);
        assert(threads);
        assert(rows_max > 0);
        assert(ret);

        h = calloc(1, sizeof(*h));
        if (!h)
                return -ENOMEM;
        h->network = network;
        h->threads = threads;
        h->n = network->n_parameters;
        h->layer_action = network_find(network, OUTPUT_ACTION);
        h->layer_log_sd = network_find(network, OUTPUT_LOG_STD);
        h->layer_value = network_find(network, OUTPUT_VALUE);

        n_shards = (rows_max + ROWS - 1) / ROWS;
        n_lanes = n_shards < HESSIAN_LANES_MAX ? n_shards : HESSIAN_LANES_MAX;
        n = hessian_layout(h, n_shards, n_lanes) * sizeof(double);
        h->memory = aligned_alloc(64, n);
        h->choices = calloc((size_t) n_shards * ROWS, sizeof(int32_t) * hessian_choices(network));
        h->jets = calloc((size_t) n_shards * ROWS, sizeof(LossJet));
        if (!h->memory || !h->choices || !h->jets)
                return -ENOMEM;
        memset(h->memory, 0, n);
        (void) hessian_layout(h, n_shards, n_lanes);

        *ret = TAKE_PTR(h);
        return 0;
}

static const double *layer_input(const Hessian *h, uint32_t i, uint32_t shard) {
        const Layer *l = &h->network->layers[i];

        /* A layer may read only the first columns of an observation. */
        return l->input == i ? shard_columns(h->input, h->network->n_observation, shard)
                             : shard_columns(h->layers[l->input].y, l->n_in, shard);
}

/* c [m][n] (+)= a b; each of a and b may be stored transposed. */
static void product(const double *a, bool transpose_a, const double *b, bool transpose_b, bool accumulate,
                uint32_t m, uint32_t n, uint32_t k, double *c) {
        kernel_double_product(&(DoubleProduct){
                        .m = m,
                        .n = n,
                        .k = k,
                        .a = a,
                        .a_m = transpose_a ? 1 : k,
                        .a_k = transpose_a ? m : 1,
                        .b = b,
                        .b_k = transpose_b ? 1 : n,
                        .b_n = transpose_b ? k : 1,
                        .accumulate = accumulate,
                        .c = c,
        });
}

/* Loading */

static void shard_gather(Hessian *h, uint32_t shard) {
        const Batch *b = h->batch;
        double *input = shard_columns(h->input, b->n_observation, shard);
        double *actions = shard_columns(h->actions, b->n_action, shard);
        int32_t *choices = shard_choices(h, shard);

        for (uint32_t r = 0; r < ROWS; r++) {
                uint32_t i = shard * ROWS + r;
                bool there = i < h->rows.n;
                size_t row = there ? h->rows.order[i] : 0;

                for (uint32_t k = 0; k < b->n_observation; k++)
                        input[k * ROWS + r] =
                                        there ? (double) b->observations[row * b->n_observation + k] : 0.0;
                for (uint32_t k = 0; k < b->n_choices; k++)
                        choices[k * ROWS + r] = there && b->act == ACT_CATEGORICAL
                                                                ? b->choices[row * b->n_choices + k]
                                                                : 0;
                for (uint32_t k = 0; k < b->n_action; k++)
                        actions[k * ROWS + r] = there && b->act == ACT_GAUSSIAN
                                                                ? (double) b->actions[row * b->n_action + k]
                                                                : 0.0;
        }
}

static void layer_activate(const Hessian *h, uint32_t i, uint32_t shard) {
        const Layer *l = &h->network->layers[i];
        double *y = shard_columns(h->layers[i].y, l->n_out, shard);
        double *slope = shard_columns(h->layers[i].slope, l->n_out, shard);

        for (uint32_t u = 0; u < l->n_out; u++)
                for (size_t k = (size_t) u * ROWS, end = k + ROWS; k < end; k++) {
                        double x = y[k] + h->parameters[l->bias_at + u];

                        switch ((LayerActivation) l->activation) {
                        case LAYER_NONE:
                                y[k] = x;
                                slope[k] = 1.0;
                                break;
                        case LAYER_TANH:
                                y[k] = double_tanh(x);
                                slope[k] = 1.0 - y[k] * y[k];
                                break;
                        case LAYER_RELU:
                                y[k] = fmax(x, 0.0);
                                slope[k] = x > 0.0 ? 1.0 : 0.0;
                                break;
                        case LAYER_SILU:
                        case LAYER_MISH: assert(!"unreachable: settings are checked"); break;
                        }
                }
}

static void shard_forward(const Hessian *h, uint32_t shard) {
        for (uint32_t i = 0; i < h->network->n_layers; i++) {
                const Layer *l = &h->network->layers[i];
                double *y = shard_columns(h->layers[i].y, l->n_out, shard);

                if (!h->wanted[i])
                        continue;
                if (l->kind == LAYER_DENSE)
                        product(h->parameters + l->weight_at, false, layer_input(h, i, shard), false, false,
                                        l->n_out, ROWS, l->n_in, y);
                else
                        memset(y, 0, (size_t) l->n_out * ROWS * sizeof(double));
                layer_activate(h, i, shard);
        }
}

static LossRow row_of(const Hessian *h, size_t row) {
        const Batch *b = h->batch;

        return (LossRow){
                .columns = {
                        [COLUMN_ADVANTAGE] = ((double) b->advantage[row] - h->mean) * h->scale,
                        [COLUMN_TARGET] = (double) b->target[row],
                        [COLUMN_OLD_LOG_PROBABILITY] = (double) b->log_probability[row],
                        [COLUMN_OLD_VALUE] = (double) b->value[row],
                        [COLUMN_BEHAVIOUR_LOG_PROBABILITY] = (double) b->behaviour_log_probability[row],
                },
        };
}

static void shard_jets(const Hessian *h, uint32_t shard) {
        double terms[_TERM_MAX][ROWS], weight = 1.0 / h->rows.n;

        head_terms(h, shard, terms);
        for (uint32_t r = 0; r < ROWS; r++) {
                uint32_t i = shard * ROWS + r;
                LossJet *jet = &h->jets[i];
                LossRow of;

                *jet = (LossJet){};
                if (i >= h->rows.n)
                        continue;
                of = row_of(h, h->rows.order[i]);
                for (unsigned t = 0; t < _TERM_MAX; t++)
                        of.terms[t] = terms[t][r];
                tape_jet(h->loss, &of, jet);
                for (unsigned t = 0; t < _TERM_MAX; t++) {
                        jet->d[t] *= weight;
                        for (unsigned u = 0; u < _TERM_MAX; u++)
                                jet->dd[t][u] *= weight;
                }
        }
}

static void shard_backward(const Hessian *h, uint32_t shard) {
        bool collected[LAYERS_MAX] = {};

        for (uint32_t i = h->network->n_layers; i-- > 0;) {
                const Layer *l = &h->network->layers[i];
                const HessianLayer *at = &h->layers[i];
                size_t first = (size_t) shard * l->n_out * ROWS;

                if (!h->wanted[i])
                        continue;
                for (size_t k = first, end = first + (size_t) l->n_out * ROWS; k < end; k++) {
                        at->bend[k] = l->activation == LAYER_TANH ? -2.0 * at->y[k] * at->d[k] : 0.0;
                        at->d[k] *= at->slope[k];
                }
                if (l->kind == LAYER_DENSE && l->input != i) {
                        product(h->parameters + l->weight_at, true, at->d + first, false,
                                        collected[l->input], l->n_in, ROWS, l->n_out,
                                        shard_columns(h->layers[l->input].d, l->n_in, shard));
                        collected[l->input] = true;
                }
        }
}

static void load_task(void *arg, uint32_t shard, uint32_t thread) {
        Hessian *h = arg;

        shard_gather(h, shard);
        shard_forward(h, shard);
        shard_jets(h, shard);
        head_gradient(h, shard);
        shard_backward(h, shard);
}

/* A layer has a part in the loss if the loss reads it, or if a layer that has a part reads it. */
static void layers_want(Hessian *h, bool value) {
        memset(h->wanted, 0, sizeof(h->wanted));
        h->n_wanted = 0;
        for (uint32_t i = h->network->n_layers; i-- > 0;) {
                const Layer *l = &h->network->layers[i];

                if (l->output == OUTPUT_VALUE)
                        h->wanted[i] = value;
                else if (l->output != OUTPUT_HIDDEN)
                        h->wanted[i] = true;
                if (!h->wanted[i])
                        continue;
                h->wanted[l->input] = true;
                if (l->bias_at + l->n_out > h->n_wanted)
                        h->n_wanted = l->bias_at + l->n_out;
        }
}

void hessian_load(Hessian *h, const HessianOf *of) {
        assert(h);
        assert(of->rows.n > 0);

        h->loss = of->loss;
        h->batch = of->batch;
        h->rows = of->rows;
        h->mean = of->mean;
        h->scale = of->scale;
        h->n_shards = (of->rows.n + ROWS - 1) / ROWS;
        h->n_lanes = h->n_shards < HESSIAN_LANES_MAX ? h->n_shards : HESSIAN_LANES_MAX;
        for (size_t i = 0; i < h->n; i++)
                h->parameters[i] = (double) of->parameters[i];
        memset(h->lanes, 0, h->n_lanes * h->n * sizeof(double));
        layers_want(h, of->value);

        threads_run(h->threads, load_task, h, h->n_shards);
}

/* Products */

static void shard_along_forward(const Hessian *h, uint32_t shard, double *const *along_y) {
        for (uint32_t i = 0; i < h->network->n_layers; i++) {
                const Layer *l = &h->network->layers[i];
                const double *slope = shard_columns(h->layers[i].slope, l->n_out, shard);
                double *y = along_y[i];

                if (!h->wanted[i]) {
                        memset(y, 0, (size_t) l->n_out * ROWS * sizeof(double));
                        continue;
                }
                for (uint32_t u = 0; u < l->n_out; u++)
                        for (uint32_t r = 0; r < ROWS; r++)
                                y[u * ROWS + r] = h->vector[l->bias_at + u];
                if (l->kind == LAYER_DENSE)
                        product(h->vector + l->weight_at, false, layer_input(h, i, shard), false, true,
                                        l->n_out, ROWS, l->n_in, y);
                if (l->kind == LAYER_DENSE && l->input != i)
                        product(h->parameters + l->weight_at, false, along_y[l->input], false, true,
                                        l->n_out, ROWS, l->n_in, y);
                for (size_t k = 0; k < (size_t) l->n_out * ROWS; k++)
                        y[k] *= slope[k];
        }
}

/* Writes layer i's part of the Hessian's product with h->vector to ret, and the derivative at the layer's
 * input to along_d. accumulate: adds to the numbers in ret. collected: adds to those in along_d. */
static void layer_along_backward(const Hessian *h, uint32_t i, uint32_t shard, double *const *along_y,
                double *const *along_d, bool accumulate, bool collected, double *ret) {
        const Layer *l = &h->network->layers[i];
        const double *d = shard_columns(h->layers[i].d, l->n_out, shard);

        for (uint32_t u = 0; u < l->n_out; u++) {
                double sums[SUMS] = {}, sum = accumulate ? ret[l->bias_at + u] : 0.0;

                for (uint32_t r = 0; r < ROWS; r += SUMS)
                        for (uint32_t k = 0; k < SUMS; k++)
                                sums[k] += along_d[i][u * ROWS + r + k];
                for (uint32_t k = 0; k < SUMS; k++)
                        sum += sums[k];
                ret[l->bias_at + u] = sum;
        }
        if (l->kind == LAYER_PARAMETER)
                return;

        product(along_d[i], false, layer_input(h, i, shard), true, accumulate, l->n_out, l->n_in, ROWS,
                        ret + l->weight_at);
        if (l->input == i)
                return;
        product(d, false, along_y[l->input], true, true, l->n_out, l->n_in, ROWS, ret + l->weight_at);
        product(h->parameters + l->weight_at, true, along_d[i], false, collected, l->n_in, ROWS, l->n_out,
                        along_d[l->input]);
        product(h->vector + l->weight_at, true, d, false, true, l->n_in, ROWS, l->n_out, along_d[l->input]);
}

static void shard_along_backward(const Hessian *h, uint32_t shard, double *const *along_y,
                double *const *along_d, bool accumulate, double *ret) {
        bool collected[LAYERS_MAX] = {};

        for (uint32_t i = h->network->n_layers; i-- > 0;) {
                const Layer *l = &h->network->layers[i];
                const double *slope = shard_columns(h->layers[i].slope, l->n_out, shard);
                const double *bend = shard_columns(h->layers[i].bend, l->n_out, shard);

                if (!h->wanted[i])
                        continue;
                for (size_t k = 0; k < (size_t) l->n_out * ROWS; k++)
                        along_d[i][k] = slope[k] * along_d[i][k] + bend[k] * along_y[i][k];
                layer_along_backward(h, i, shard, along_y, along_d, accumulate, collected[l->input], ret);
                collected[l->input] = true;
        }
}

static void product_task(void *arg, uint32_t lane, uint32_t thread) {
        const Hessian *h = arg;
        uint32_t first = (uint32_t) ((uint64_t) h->n_shards * lane / h->n_lanes);
        uint32_t end = (uint32_t) ((uint64_t) h->n_shards * (lane + 1) / h->n_lanes);
        double *along_y[LAYERS_MAX], *along_d[LAYERS_MAX],
                        *at = h->scratch + (size_t) thread * 2 * h->n_units * ROWS;

        for (uint32_t i = 0; i < h->network->n_layers; i++) {
                along_y[i] = at;
                along_d[i] = at + h->n_units * ROWS;
                at += (size_t) h->network->layers[i].n_out * ROWS;
        }
        for (uint32_t shard = first; shard < end; shard++) {
                shard_along_forward(h, shard, along_y);
                head_along(h, shard, along_y, along_d);
                shard_along_backward(h, shard, along_y, along_d, shard > first, h->lanes + lane * h->n);
        }
}

/* Adds up the lanes (partial sums over shards of rows) of one block of parameters, in a tree. */
static void reduce_task(void *arg, uint32_t block, uint32_t thread) {
        const Hessian *h = arg;
        size_t first = (size_t) block * BLOCK,
               end = first + BLOCK < h->n_wanted ? first + BLOCK : h->n_wanted;

        for (uint32_t step = 1; step < h->n_lanes; step *= 2)
                for (uint32_t lane = 0; lane + step < h->n_lanes; lane += 2 * step)
                        for (size_t i = first; i < end; i++)
                                h->lanes[lane * h->n + i] += h->lanes[(lane + step) * h->n + i];
        memcpy(h->ret + first, h->lanes + first, (end - first) * sizeof(double));
}

void hessian_times(Hessian *h, const double *vector, double *ret) {
        assert(h);
        assert(h->loss);

        h->vector = vector;
        h->ret = ret;
        threads_run(h->threads, product_task, h, h->n_lanes);
        threads_run(h->threads, reduce_task, h, (uint32_t) ((h->n_wanted + BLOCK - 1) / BLOCK));
}
