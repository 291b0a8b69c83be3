/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Forward and backward over the list of layers; a layer reads only layers before it. */
#include "learner/gradient.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "learner/blas.h"
#include "lib/cleanup.h"

DEFINE_CLEANUP(Pass *, pass_free)

Pass *pass_free(Pass *pass) {
        if (!pass)
                return NULL;

        free(pass->memory);
        free(pass);
        return NULL;
}

int pass_new(const Network *network, Pass **ret) {
        _cleanup_(pass_freep) Pass *pass = NULL;
        size_t columns = network->n_observation, n_in = 0;
        float *at;

        assert(network);
        assert(ret);

        for (uint32_t i = 0; i < network->n_layers; i++) {
                columns += 2 * (size_t) network->layers[i].n_out;
                n_in = network->layers[i].n_in > n_in ? network->layers[i].n_in : n_in;
        }
        columns += n_in;

        pass = calloc(1, sizeof(*pass));
        if (!pass)
                return -ENOMEM;
        pass->memory = aligned_alloc(64, columns * SHARD_ROWS_MAX * sizeof(float));
        if (!pass->memory)
                return -ENOMEM;
        memset(pass->memory, 0, columns * SHARD_ROWS_MAX * sizeof(float));

        pass->network = network;
        pass->stride = SHARD_ROWS_MAX;
        pass->input = at = pass->memory;
        at += (size_t) network->n_observation * SHARD_ROWS_MAX;
        pass->transposed = at;
        at += n_in * SHARD_ROWS_MAX;
        for (uint32_t i = 0; i < network->n_layers; i++) {
                pass->output[i] = at;
                pass->d_output[i] = at + (size_t) network->layers[i].n_out * SHARD_ROWS_MAX;
                at += 2 * (size_t) network->layers[i].n_out * SHARD_ROWS_MAX;
        }

        *ret = TAKE_PTR(pass);
        return 0;
}

void pass_forward(Pass *pass, const float *parameters) {
        for (uint32_t i = 0; i < pass->network->n_layers; i++) {
                const Layer *l = &pass->network->layers[i];
                float *y = pass->output[i];

                switch ((LayerKind) l->kind) {
                case LAYER_DENSE:
                        blas_forward(parameters + l->weight_at,
                                        l->input == i ? pass->input : pass->output[l->input], l->n_out,
                                        l->n_in, pass->stride, y);
                        break;
                case LAYER_PARAMETER: memset(y, 0, (size_t) l->n_out * pass->stride * sizeof(float)); break;
                }
                kernel_bias_activate(y, parameters + l->bias_at, l->n_out, pass->stride, l->activation);
        }
}

static void layer_backward_weight(Pass *pass, const Layer *l, const float *dy, const float *x,
                bool accumulate, float *gradient) {
        if (!blas_prefers_transposed(l->n_out, l->n_in, pass->stride)) {
                blas_backward_weight(
                                dy, x, l->n_out, l->n_in, pass->stride, accumulate, gradient + l->weight_at);
                return;
        }

        kernel_transpose(x, l->n_in, pass->stride, pass->transposed);
        blas_backward_weight_transposed(dy, pass->transposed, l->n_out, l->n_in, pass->stride, accumulate,
                        gradient + l->weight_at);
}

void pass_backward(Pass *pass, const float *parameters, bool accumulate, float *gradient) {
        bool collected[LAYERS_MAX] = {};

        for (uint32_t i = pass->network->n_layers; i-- > 0;) {
                const Layer *l = &pass->network->layers[i];
                float *dy = pass->d_output[i];

                kernel_activation_backward(dy, pass->output[i], gradient + l->bias_at, l->n_out,
                                pass->stride, l->activation, accumulate);
                if (l->kind == LAYER_PARAMETER)
                        continue;

                layer_backward_weight(pass, l, dy, l->input == i ? pass->input : pass->output[l->input],
                                accumulate, gradient);
                if (l->input != i) {
                        blas_backward_input(parameters + l->weight_at, dy, l->n_out, l->n_in, pass->stride,
                                        collected[l->input], pass->d_output[l->input]);
                        collected[l->input] = true;
                }
        }
}

uint32_t network_find(const Network *network, LayerOutput output) {
        for (uint32_t i = 0; i < network->n_layers; i++)
                if (network->layers[i].output == output)
                        return i;
        return UINT32_MAX;
}
