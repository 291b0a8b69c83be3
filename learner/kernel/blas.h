/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is measured in double precision for schedulers, and the only file that calls OpenBLAS: nothing here
 * enters a gradient. Called by several threads at once, each with shards of its own: the library is built
 * serial. All matrices are row-major. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* c [m][n] (+)= a b in double precision; each of a and b may be stored transposed. */
void blas_product(const double *a, bool transpose_a, const double *b, bool transpose_b, bool accumulate,
                uint32_t m, uint32_t n, uint32_t k, double *c);
/* ret [n_rows] = a [n_rows][n] x */
void blas_dots(const double *a, uint32_t n_rows, size_t n, const double *x, double *ret);
/* y [n] -= a' x, with a [n_rows][n] */
void blas_clear(const double *a, uint32_t n_rows, size_t n, const double *x, double *y);
/* The eigenvalues of a symmetric tridiagonal matrix take the place of its diagonal, ascending; `beside`
 * [n - 1] is lost. 0, or -EDOM: they were not found. */
int blas_tridiagonal(double *diagonal, double *beside, uint32_t n);
