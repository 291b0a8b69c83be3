/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A shard of rows through the network and back. The network is data: both walks go over its list of
 * layers, and a layer that several others read collects their gradients before its own turn comes. */
#pragma once

#include "include/policy.h"
#include "learner/kernel/kernels.h"

/* The numbers of one shard, columns of `stride` rows; one per thread, made once. */
typedef struct Pass {
        const Network *network;
        uint32_t stride;
        float *input; /* [network_inputs()][stride], written by the caller */
        float *output[LAYERS_MAX], *d_output[LAYERS_MAX]; /* [n_out][stride] each */
        float *slope[LAYERS_MAX]; /* the same, of activations whose slope output does not tell; or NULL */
        float *transposed;        /* of one layer: kernel_transpose() */
        float *scratch;           /* of one convolution */
        void *memory;
} Pass;

int pass_new(const Network *network, Pass **ret);
Pass *pass_free(Pass *pass);

/* input -> output of each layer */
void pass_forward(Pass *pass, const float *parameters);
/* d_output of the layers that no layer reads, written by the caller -> gradient, which may be NULL; those of
 * the others are computed on the way. d_input: NULL, or, of a network that reads by dense layers alone, what
 * its input gets, [network_inputs()][stride]. */
void pass_backward(
                Pass *pass, const float *parameters, bool accumulate, float *gradient, float *ret_d_input);

/* The first layer with this output, or UINT32_MAX. */
uint32_t network_find(const Network *network, LayerOutput output);
