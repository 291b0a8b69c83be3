/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls the kernel of a single choice for each element of an action in turn. */
#include "learner/kernel/choices.h"

#include <string.h>

void choices_forward(const Network *network, float *logits, const int32_t *choices, uint32_t stride,
                float *entropies, float *ret_log_probability, float *ret_entropy) {
        float log_probability[SHARD_ROWS_MAX] __attribute__((aligned(64)));
        size_t at = 0;

        kernel_categorical(logits, choices, network->choices[0], stride, ret_log_probability, ret_entropy);
        if (network->n_choices > 1)
                memcpy(entropies, ret_entropy, stride * sizeof(float));
        for (uint32_t k = 1; k < network->n_choices; k++) {
                float *entropy = entropies + (size_t) k * stride;

                at += (size_t) network->choices[k - 1] * stride;
                kernel_categorical(logits + at, choices + (size_t) k * stride, network->choices[k], stride,
                                log_probability, entropy);
                kernel_add(ret_log_probability, log_probability, stride);
                kernel_add(ret_entropy, entropy, stride);
        }
}

void choices_backward(const Network *network, const float *log_probabilities, const int32_t *choices,
                uint32_t stride, const float *entropies, const float *d_log_probability,
                const float *d_entropy, float *ret_d_logits) {
        size_t at = 0;

        for (uint32_t k = 0; k < network->n_choices; k++) {
                size_t row = (size_t) k * stride;

                kernel_categorical_backward(log_probabilities + at, choices + row, entropies + row,
                                d_log_probability, d_entropy, network->choices[k], stride,
                                ret_d_logits + at);
                at += (size_t) network->choices[k] * stride;
        }
}
