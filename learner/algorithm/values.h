/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Outputs that are the values of choices: columns of `stride` rows, as in learner/kernel/kernels.h. */
#pragma once

#include <stdint.h>

/* values [n][stride] -> the value of the choice of each row; and gradients back */
void values_of(const float *values, const int32_t *choice, uint32_t n, uint32_t stride, float *ret);
void values_of_backward(const int32_t *choice, const float *d_value, uint32_t n, uint32_t stride,
                float *ret_d_values);
/* The choice with the greatest value, the first of equals, as lib/action.c takes it. */
void values_greatest(const float *values, uint32_t n, uint32_t stride, int32_t *ret_choice);
