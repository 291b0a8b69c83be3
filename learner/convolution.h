/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A convolution of a shard as products of matrices: the squares that it reads for one row of its output lie side by side as columns, each
 * as often as the shard has rows. One output row at a time, so that the squares stay in a core's cache; in order, so that sums are too. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "include/policy.h"

/* Numbers of scratch for shards of at most so many rows. */
size_t convolution_scratch(const Layer *layer, uint32_t rows_max);

/* x [n_in][rows] -> y [n_out][rows], without bias */
void convolution_forward(const Layer *layer, const float *weight, const float *x, uint32_t rows,
                float *scratch, float *y);
/* dweight (+)= of dy [n_out][rows] */
void convolution_backward_weight(const Layer *layer, const float *dy, const float *x, uint32_t rows,
                bool accumulate, float *scratch, float *dweight);
/* dx [n_in][rows] (+)= */
void convolution_backward_input(const Layer *layer, const float *weight, const float *dy, uint32_t rows,
                bool accumulate, float *scratch, float *dx);
