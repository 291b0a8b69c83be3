/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the two files of the forward pass share: lib/forward-layers.c computes layers, and lib/forward.c
 * makes actions with them. */
#pragma once

#include "lib/forward.h"
#include "lib/kernel.h"
#include "lib/sampler.h"

struct Forward {
        Network network;
        ActordSpace space;
        SamplerPass passes[PASSES_MAX];
        uint64_t acts; /* bit i: layer i is computed, since an action or a judgement needs it */

        /* of the last forward_load(); a judge has only `parameters` */
        const PolicyHead *bank;
        const PolicyLayout *layout;
        const float *parameters;
        float *kept[LAYERS_MAX]; /* panels, each [padded n_reads][padded outputs]; or NULL */
        float *panel;            /* for a layer whose panels are not kept */

        float *observation; /* [FORWARD_ROWS_MAX], each padded to KERNEL_LANES, as outputs are */
        float *given;       /* one observation before it is edited; NULL: the network is not edited */
        float *squares;     /* [FORWARD_ROWS_MAX]: the input of one unit of a convolution, padded */
        float *noise;       /* for passes: [FORWARD_ROWS_MAX][candidates][passes][n_action] */
        float *units;       /* [FORWARD_ROWS_MAX]: the outputs of all units for `squares`, padded */
        float *outputs[LAYERS_MAX]; /* of the layers that are computed, not of PARAMETER layers */

        /* The critics that judge candidates. Their input, `observation`, is the policy's normalised
         * observation and then an action. NULL: the policy has one candidate. */
        Forward *judges[JUDGES];
};

static inline size_t padded(size_t n) {
        return (n + KERNEL_LANES - 1) / KERNEL_LANES * KERNEL_LANES;
}

/* Reads n_rows observations into forward->observation, as the network's input. */
void forward_read(Forward *forward, const void *observations, size_t stride, size_t n_rows);
/* Computes the outputs of the layers that are needed. */
void forward_layers(Forward *forward, size_t n_rows);
