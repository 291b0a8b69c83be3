/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The three products of a dense layer, and the only file that calls OpenBLAS. Called by several threads at once, each with shards of
 * its own: the library is built serial. All matrices are row-major. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* y [n_out][rows] = weight [n_out][n_in] x [n_in][rows] */
void blas_forward(const float *weight, const float *x, uint32_t n_out, uint32_t n_in, uint32_t rows,
                float *ret_y);
/* dx [n_in][rows] (+)= weight' dy */
void blas_backward_input(const float *weight, const float *dy, uint32_t n_out, uint32_t n_in, uint32_t rows,
                bool accumulate, float *ret_dx);
/* dweight [n_out][n_in] (+)= dy x' */
void blas_backward_weight(const float *dy, const float *x, uint32_t n_out, uint32_t n_in, uint32_t rows,
                bool accumulate, float *ret_dweight);
/* The same from xt [rows][n_in]: faster by a quarter where blas_prefers_transposed(), which the shape alone decides. */
void blas_backward_weight_transposed(const float *dy, const float *xt, uint32_t n_out, uint32_t n_in,
                uint32_t rows, bool accumulate, float *ret_dweight);
bool blas_prefers_transposed(uint32_t n_out, uint32_t n_in, uint32_t rows);

/* The kernels that the library chose when it was loaded, as "SkylakeX": equal names, equal bits. */
const char *blas_kernel_name(void);
