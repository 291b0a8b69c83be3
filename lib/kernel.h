/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What actors, who compute row by row, and learners, who compute in columns, have in common: each number
 * of a layer's output is the same sum, in the same order, so that both get the same bits from a row. There
 * is one kernel for each width of vectors (lib/width.h); the width never shows in a result. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KERNEL_LANES = 16 }; /* of the widest vector */

/* c [m][n] = the sums over k of a [m][k] b [k][n], each of which begins with bias[m], or 0 (NULL), or where
 * it goes on, with what c has, and takes one product after the other by fused multiply-add. a and c may
 * lie in any order of rows, as their steps have it; rows of b lie b_k numbers apart, and have as many
 * readable numbers beyond n as complete a group of 16. */
typedef struct Product {
        uint32_t m, n, k;
        const float *a, *b, *bias;
        size_t a_m, a_k, b_k;
        bool goes_on;
        float *c;
        size_t c_m;
} Product;

void kernel_product(const Product *p);

/* x [n][stride] -> ret [stride][n], each row followed by zeros up to a multiple of 16. A stride that is no
 * such multiple is taken up to the next: so much of x is readable, and of ret writable. */
void kernel_transpose(const float *x, uint32_t n, uint32_t stride, float *ret);
/* y = activation(y); n: a multiple of 16; activation: LayerActivation */
void kernel_activate(float *y, size_t n, uint32_t activation);
