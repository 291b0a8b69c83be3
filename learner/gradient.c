/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Forward and backward pass over the list of layers. A layer reads only earlier layers. */
#include "learner/gradient.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "learner/kernel/convolution.h"
#include "lib/cleanup.h"

DEFINE_CLEANUP(Pass *, pass_free)

Pass *pass_free(Pass *pass) {
        if (!pass)
                return NULL;

        free(pass->memory);
        free(pass);
        return NULL;
}

/* Whether the layer is a matrix product: dense, or a convolution with a single square that covers its whole
 * input in order. */
static bool is_product(const Layer *l) {
        const Convolution *c = &l->convolution;

        return l->kind == LAYER_DENSE ||
               (l->kind == LAYER_CONVOLUTION && l->n_out == l->n_units && c->padding == 0 &&
                               c->kernel == c->height && c->kernel == c->width && c->column_step == 1 &&
                               c->row_step == c->width && c->channel_step == c->width * c->height);
}

static bool has_slope(const Layer *l) {
        return l->activation == LAYER_SILU || l->activation == LAYER_MISH;
}

/* For the gradient of its weights, a narrow layer needs its outputs' gradients transposed, not its
 * inputs. */
static bool is_narrow(const Layer *l) {
        return l->n_in <= NARROW_MAX;
}

/* The number of columns in `input`. A caller may write whole observations there, which can be wider than the
 * network's input if the network edits them (n_edited). */
static size_t input_columns(const Network *network) {
        size_t n = network_inputs(network);

        return n > network->n_observation ? n : network->n_observation;
}

int pass_new(const Network *network, Pass **ret) {
        _cleanup_(pass_freep) Pass *pass = NULL;
        size_t columns = input_columns(network), n_transposed = 0, scratch = 0, n;
        float *at;

        assert(network);
        assert(ret);

        for (uint32_t i = 0; i < network->n_layers; i++) {
                const Layer *l = &network->layers[i];

                columns += (has_slope(l) ? 3 : 2) * (size_t) l->n_out;
                /* pass_backward() may write a sum for each unit to `transposed`. */
                n = ((size_t) l->n_units + SHARD_ROWS_MAX - 1) / SHARD_ROWS_MAX;
                n_transposed = n > n_transposed ? n : n_transposed;
                if (is_product(l)) {
                        n = kernel_padded(is_narrow(l) ? l->n_out : l->n_in);
                        n_transposed = n > n_transposed ? n : n_transposed;
                } else if (l->kind == LAYER_CONVOLUTION) {
                        n = convolution_scratch(l);
                        scratch = n > scratch ? n : scratch;
                }
        }
        columns += n_transposed;
        n = (columns * SHARD_ROWS_MAX + scratch) * sizeof(float);

        pass = calloc(1, sizeof(*pass));
        if (!pass)
                return -ENOMEM;
        pass->memory = aligned_alloc(64, n);
        if (!pass->memory)
                return -ENOMEM;
        memset(pass->memory, 0, n);

        pass->network = network;
        pass->stride = SHARD_ROWS_MAX;
        pass->end = network->n_layers;
        pass->input = at = pass->memory;
        at += input_columns(network) * SHARD_ROWS_MAX;
        pass->transposed = at;
        at += n_transposed * SHARD_ROWS_MAX;
        for (uint32_t i = 0; i < network->n_layers; i++) {
                pass->output[i] = at;
                pass->d_output[i] = at + (size_t) network->layers[i].n_out * SHARD_ROWS_MAX;
                at += 2 * (size_t) network->layers[i].n_out * SHARD_ROWS_MAX;
                if (!has_slope(&network->layers[i]))
                        continue;
                pass->slope[i] = at;
                at += (size_t) network->layers[i].n_out * SHARD_ROWS_MAX;
        }
        pass->scratch = at;

        *ret = TAKE_PTR(pass);
        return 0;
}

/* How many outputs share a unit's bias: one for each row of the shard; in a convolution, one for each row
 * and position. */
static uint32_t unit_rows(const Pass *pass, const Layer *l) {
        return l->n_out / l->n_units * pass->stride;
}

/* Applies layer i's activation to pass->output[i], which holds the sums with biases until then. */
static void layer_activate(Pass *pass, uint32_t i) {
        const Layer *l = &pass->network->layers[i];
        size_t n = (size_t) l->n_out * pass->stride;

        if (pass->slope[i])
                kernel_activate_sloped(pass->output[i], n, l->activation, pass->slope[i]);
        else
                kernel_activate(pass->output[i], n, l->activation);
}

void pass_forward(Pass *pass, const float *parameters) {
        for (uint32_t i = pass->first; i < pass->end; i++) {
                const Layer *l = &pass->network->layers[i];
                const float *x = l->input == i ? pass->input : pass->output[l->input];
                float *y = pass->output[i];

                if (is_product(l)) {
                        kernel_forward(parameters + l->weight_at, parameters + l->bias_at, x, l->n_out,
                                        l->n_in, pass->stride, y);
                        layer_activate(pass, i);
                        continue;
                }

                if (l->kind == LAYER_PARAMETER)
                        memset(y, 0, (size_t) l->n_out * pass->stride * sizeof(float));
                else
                        convolution_forward(l, parameters + l->weight_at, x, pass->stride, pass->scratch, y);
                kernel_bias_activate(y, parameters + l->bias_at, l->n_units, unit_rows(pass, l), LAYER_NONE);
                layer_activate(pass, i);
        }
}

static void layer_backward_weight(Pass *pass, const Layer *l, const float *dy, const float *x,
                bool accumulate, float *gradient) {
        if (!is_product(l)) {
                convolution_backward_weight(l, dy, x, pass->stride, accumulate, gradient + l->weight_at);
                return;
        }
        if (is_narrow(l)) {
                kernel_transpose(dy, l->n_out, pass->stride, pass->transposed);
                kernel_backward_weight_narrow(pass->transposed, x, l->n_out, l->n_in, pass->stride,
                                accumulate, gradient + l->weight_at);
                return;
        }
        kernel_transpose(x, l->n_in, pass->stride, pass->transposed);
        kernel_backward_weight(dy, pass->transposed, l->n_out, l->n_in, pass->stride, accumulate,
                        gradient + l->weight_at);
}

/* Computes layer l's part of the gradient of its input. accumulate: another layer reads the same input and
 * has written its part already. */
static void layer_backward_input(Pass *pass, const Layer *l, const float *weight, const float *dy,
                bool accumulate, float *ret) {
        if (is_product(l))
                kernel_backward_input(weight, dy, l->n_out, l->n_in, pass->stride, accumulate, ret);
        else
                convolution_backward_input(l, weight, dy, pass->stride, accumulate, pass->scratch, ret);
}

void pass_backward(
                Pass *pass, const float *parameters, bool accumulate, float *gradient, float *ret_d_input) {
        bool collected[LAYERS_MAX] = {}, arrived = false;

        for (uint32_t i = pass->end; i-- > pass->first;) {
                const Layer *l = &pass->network->layers[i];
                bool first = l->input == i;
                float *dy = pass->d_output[i];

                if (l->kind == LAYER_PARAMETER && !gradient)
                        continue;
                /* The sums for biases may not be needed. Then they go into the memory for transposed inputs,
                 * which is free now. */
                kernel_activation_backward(dy, pass->slope[i] ?: pass->output[i],
                                gradient ? gradient + l->bias_at : pass->transposed, l->n_units,
                                unit_rows(pass, l), l->activation, gradient && accumulate);
                if (l->kind == LAYER_PARAMETER)
                        continue;

                if (gradient)
                        layer_backward_weight(pass, l, dy, first ? pass->input : pass->output[l->input],
                                        accumulate, gradient);
                if (!first) {
                        layer_backward_input(pass, l, parameters + l->weight_at, dy, collected[l->input],
                                        pass->d_output[l->input]);
                        collected[l->input] = true;
                } else if (ret_d_input) {
                        assert(is_product(l));
                        layer_backward_input(pass, l, parameters + l->weight_at, dy, arrived, ret_d_input);
                        arrived = true;
                }
        }
}

uint32_t network_find(const Network *network, LayerOutput output) {
        for (uint32_t i = 0; i < network->n_layers; i++)
                if (network->layers[i].output == output)
                        return i;
        return UINT32_MAX;
}
