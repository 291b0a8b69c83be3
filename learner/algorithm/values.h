/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* For networks whose outputs are the values of the choices. An output is a column of `stride` rows, as in
 * learner/kernel/kernels.h. */
#pragma once

#include <stdint.h>

/* values_of() takes from values [n][stride] the value of each row's choice. values_of_backward() writes a
 * row's gradient to the place of its choice, and 0 to the other places. */
void values_of(const float *values, const int32_t *choice, uint32_t n, uint32_t stride, float *ret);
void values_of_backward(const int32_t *choice, const float *d_value, uint32_t n, uint32_t stride,
                float *ret_d_values);
/* The choice with the highest value; of equal ones the first, as in lib/action.c. */
void values_greatest(const float *values, uint32_t n, uint32_t stride, int32_t *ret_choice);
