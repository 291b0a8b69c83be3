/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The arithmetic that actors and learners share. Actors compute row by row and learners compute columns, but
 * each number of a layer's output is the same sum in the same order, so both get the same bits. There is one
 * kernel for each width of vectors (lib/width.h); the width never changes a result. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KERNEL_LANES = 16 }; /* lanes of the widest vector */

/* How long a row of n numbers is if full vectors read it: n, rounded up to a multiple of KERNEL_LANES. */
static inline uint32_t kernel_padded(uint32_t n) {
        return (n + KERNEL_LANES - 1) / KERNEL_LANES * KERNEL_LANES;
}

/* c [m][n] = the sums over k of a [m][k] b [k][n]. Each sum begins with bias[m] or 0 (NULL) or, if it
 * continues, with the content of c, and adds one product after the other by fused multiply-add. a may be
 * stored by rows or by columns, as its strides say. Rows of c are c_m numbers apart. Rows of b are b_k
 * numbers apart, and readable up to a multiple of 16 numbers. */
typedef struct Product {
        uint32_t m, n, k;
        const float *a, *b, *bias;
        size_t a_m, a_k, b_k;
        bool goes_on;
        float *c;
        size_t c_m;
} Product;

void kernel_product(const Product *p);

/* Transposes x [n][stride] into ret [stride][n]. Each row of ret is filled with zeros up to a multiple of
 * 16. If a stride is not a multiple of 16, x must be readable, and ret writable, up to the next multiple. */
void kernel_transpose(const float *x, uint32_t n, uint32_t stride, float *ret);
/* y = activation(y). n: a multiple of 16; activation: a LayerActivation. */
void kernel_activate(float *y, size_t n, uint32_t activation);
