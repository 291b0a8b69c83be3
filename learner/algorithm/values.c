/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The loops are plain C without vector kernels, since environments have few choices. */
#include "learner/algorithm/values.h"

#include <stddef.h>

void values_of(const float *values, const int32_t *choice, uint32_t n, uint32_t stride, float *ret) {
        for (uint32_t r = 0; r < stride; r++)
                ret[r] = values[(size_t) choice[r] * stride + r];
}

void values_of_backward(const int32_t *choice, const float *d_value, uint32_t n, uint32_t stride,
                float *ret_d_values) {
        for (uint32_t a = 0; a < n; a++)
                for (uint32_t r = 0; r < stride; r++)
                        ret_d_values[(size_t) a * stride + r] = choice[r] == (int32_t) a ? d_value[r] : 0.0f;
}

void values_greatest(const float *values, uint32_t n, uint32_t stride, int32_t *ret_choice) {
        for (uint32_t r = 0; r < stride; r++) {
                uint32_t best = 0;

                for (uint32_t a = 1; a < n; a++)
                        if (values[(size_t) a * stride + r] > values[(size_t) best * stride + r])
                                best = a;
                ret_choice[r] = (int32_t) best;
        }
}
