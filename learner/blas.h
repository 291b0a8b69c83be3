/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The three products of a dense layer, what is measured in double precision, and the only file that calls OpenBLAS. Called by several threads at once, each with shards of
 * its own: the library is built serial. All matrices are row-major. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
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

/* c [m][n] (+)= a b in double precision; each of a and b may be stored transposed. */
void blas_product(const double *a, bool transpose_a, const double *b, bool transpose_b, bool accumulate,
                uint32_t m, uint32_t n, uint32_t k, double *c);
/* ret [n_rows] = a [n_rows][n] x */
void blas_dots(const double *a, uint32_t n_rows, size_t n, const double *x, double *ret);
/* y [n] -= a' x, with a [n_rows][n] */
void blas_clear(const double *a, uint32_t n_rows, size_t n, const double *x, double *y);
/* The eigenvalues of a symmetric tridiagonal matrix take the place of its diagonal, ascending; `beside` [n - 1] is lost. 0, or -EDOM:
 * they were not found. */
int blas_tridiagonal(double *diagonal, double *beside, uint32_t n);

/* The kernels that the library chose when it was loaded, as "SkylakeX": equal names, equal bits. */
const char *blas_kernel_name(void);
/* Whether they fuse products with additions, which rounds only the sum: the same for equal names. */
bool blas_kernels_fuse(void);
