/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sends a shard (some rows of a minibatch) through the network and back. The network is data: both passes go
 * over its list of layers. If several layers read one layer, their gradients are added up before that
 * layer's own turn. */
#pragma once

#include "include/policy.h"
#include "learner/kernel/kernels.h"

/* The memory in which one thread sends a shard (some rows of a minibatch) through the network and back. Each
 * array has a column for each input or output of a layer, with one float for each row of the shard, padded
 * to `stride` floats. */
typedef struct Pass {
        const Network *network;
        uint32_t stride;
        uint32_t first, end; /* the layers that both passes go over; at first these are all */
        float *input;        /* [network_inputs()][stride], written by the caller */
        float *output[LAYERS_MAX], *d_output[LAYERS_MAX]; /* [n_out][stride] each */
        /* [n_out][stride]: slopes, for activations whose slope does not follow from the output; otherwise
         * NULL */
        float *slope[LAYERS_MAX];
        /* room for kernel_transpose() of one layer, or for one sum of each of its units */
        float *transposed;
        float *scratch; /* room for one convolution */
        void *memory;
} Pass;

int pass_new(const Network *network, Pass **ret);
Pass *pass_free(Pass *pass);

/* Computes the output of each layer from the input. */
void pass_forward(Pass *pass, const float *parameters);
/* Computes the gradient of the parameters, if `gradient` is not NULL. The caller writes d_output of the
 * layers that no other layer reads; this function computes d_output of the others. ret_d_input: NULL; or, if
 * only dense layers read the input, room for the input's gradient, [network_inputs()][stride]. */
void pass_backward(
                Pass *pass, const float *parameters, bool accumulate, float *gradient, float *ret_d_input);

/* The first layer with this output; UINT32_MAX: there is none. */
uint32_t network_find(const Network *network, LayerOutput output);
