/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The loops in which a learner spends its time. Numbers of a shard lie in columns: [n][stride] is n columns
 * of `stride` rows each. So every loop runs over rows with full vectors, even for a narrow layer. stride is
 * a multiple of 16. Rows beyond the shard's last row are zeros, and get zero gradients.
 *
 * Each kernel exists for several widths of vectors (lib/width.h). Their results are equal bit for bit: each
 * sum has the same order at any width, and every fused multiply-add is written out. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/kernel.h"

enum {
        KERNEL_GROUP = 16, /* rows side by side */
        SHARD_ROWS_MAX = 64,
        NARROW_MAX = 12, /* inputs of a layer for kernel_backward_weight_narrow(), which is faster there */
};

typedef struct AdamScalars {
        double step_size, beta1, beta2, epsilon; /* step_size: rate / (1 - beta1^t) */
        double root_correction;                  /* sqrt(1 - beta2^t) */
        /* the factor that scales the gradient down to its largest allowed norm */
        double gradient_scale;
} AdamScalars;

/* Layers: weight [n_out][n_in] */

/* y [n_out][rows] = bias + weight x [n_in][rows] */
void kernel_forward(const float *weight, const float *bias, const float *x, uint32_t n_out, uint32_t n_in,
                uint32_t rows, float *y);
/* dx [n_in][rows] (+)= weight' dy */
void kernel_backward_input(const float *weight, const float *dy, uint32_t n_out, uint32_t n_in,
                uint32_t rows, bool accumulate, float *dx);
/* dweight (+)= dy x', from xt = kernel_transpose(x) */
void kernel_backward_weight(const float *dy, const float *xt, uint32_t n_out, uint32_t n_in, uint32_t rows,
                bool accumulate, float *dweight);
/* The same for n_in <= NARROW_MAX, from x and dyt = kernel_transpose(dy): such a row of xt would fill only a
 * part of a vector. */
void kernel_backward_weight_narrow(const float *dyt, const float *x, uint32_t n_out, uint32_t n_in,
                uint32_t rows, bool accumulate, float *dweight);

/* y = activation(y + bias), y [n][stride] */
void kernel_bias_activate(float *y, const float *bias, uint32_t n, uint32_t stride, uint32_t activation);
/* kernel_activate() for SILU and MISH, n numbers, and their slopes, which do not follow from the outputs:
 * ret_slopes = activation'(y), then y = activation(y) */
void kernel_activate_sloped(float *y, size_t n, uint32_t activation, float *ret_slopes);
/* dy *= activation'; dbias = (accumulate ? dbias : 0) + row sums of dy. y: the output of the activation or,
 * for SILU and MISH, its slopes. */
void kernel_activation_backward(float *dy, const float *y, float *dbias, uint32_t n, uint32_t stride,
                uint32_t activation, bool accumulate);

/* Turns n bytes of each of KERNEL_LANES rows into columns: ret [n][stride] = scale * rows */
void kernel_pixels(const uint8_t *const rows[static KERNEL_LANES], uint32_t n, float scale, uint32_t stride,
                float *ret);

/* Distributions over actions. Each function takes a network's outputs as columns and returns an action's
 * log-probability and the entropy for each row; the functions named _backward return the gradient with
 * respect to the outputs. */

/* logits [n][stride] become log-probabilities in place */
void kernel_categorical(float *logits, const int32_t *choice, uint32_t n, uint32_t stride,
                float *ret_log_probability, float *ret_entropy);
void kernel_categorical_backward(const float *log_probabilities, const int32_t *choice, const float *entropy,
                const float *d_log_probability, const float *d_entropy, uint32_t n, uint32_t stride,
                float *ret_d_logits);
void kernel_gaussian(const float *mean, const float *log_sd, const float *action, uint32_t n,
                uint32_t stride, float *ret_log_probability, float *ret_entropy);
void kernel_gaussian_backward(const float *mean, const float *log_sd, const float *action,
                const float *d_log_probability, const float *d_entropy, uint32_t n, uint32_t stride,
                float *ret_d_mean, float *ret_d_log_sd);

/* Flat arrays */

void kernel_add(float *x, const float *y, size_t n); /* x += y */
/* Adds the parts of a gradient in a tree, part 1 to part 0, part 3 to part 2 and so on: n numbers of each,
 * from `first` on. Part 0 gets the sums; the other parts may be overwritten. n_parts: 1 to GRADIENT_PARTS.
 * squares [KERNEL_LANES]: number `first` + i adds its square to squares[i % KERNEL_LANES]. So a range whose
 * length is a multiple of KERNEL_LANES may be divided: the second call continues the sums of the first. */
void kernel_parts_add(float *const parts[], uint32_t n_parts, size_t first, size_t n, double *squares);

/* A CPU may take a hundred times as long for arithmetic whose result is subnormal (below 2^-126). Of a
 * parameter that has no gradient any more, the first moment would get there and stay: 0.9 times the least
 * number is rounded to the least number. So moments below ADAM_LEAST_MOMENT become 0, and a gradient below
 * ADAM_LEAST_SQUARED adds nothing to the second moment. With AdamEpsilon=1e-8 such a first moment would move
 * a parameter by less than 1e-28 of the learning rate, and the root of such a second moment is 1e-10 of
 * epsilon. */
#define ADAM_LEAST_MOMENT  0x1p-120f
#define ADAM_LEAST_SQUARED 0x1p-57f /* its square times 1 - 0.999 is not subnormal */
/* One step of Adam (Kingma and Ba, 2015) for n parameters with their moments m and v. */
void kernel_adam(float *parameters, float *m, float *v, const float *gradient, size_t n,
                const AdamScalars *scalars);

/* Kernels in double precision, for the figures of schedulers and for the initial parameters. Products are
 * not fused with additions, so a CPU without fused multiply-add is no slower. */

/* c [m][n] (+)= a [m][k] b [k][n]. a and b may have any order of rows and columns, as their strides say. */
typedef struct DoubleProduct {
        uint32_t m, n, k;
        const double *a, *b;
        size_t a_m, a_k, b_k, b_n;
        bool accumulate;
        double *c;
} DoubleProduct;

void kernel_double_product(const DoubleProduct *p);
/* ret [n_rows] = a [n_rows][n] x */
void kernel_double_dots(const double *a, uint32_t n_rows, size_t n, const double *x, double *ret);
/* y [n] -= a' x, with a [n_rows][n] */
void kernel_double_take(const double *a, uint32_t n_rows, size_t n, const double *x, double *y);

/* Subtracts from row a, or from each column of g [n][KERNEL_GROUP], its parts along the rows of x [rows][n],
 * one row after the other. The rows of x are unit vectors. A sum is a chain of additions, and each addition
 * waits for the one before. The chains of several columns run at the same time; the order within each sum
 * does not change. */
void kernel_clear_row(double *a, const double *x, size_t rows, size_t n);
void kernel_clear_group(double *g, const double *x, size_t rows, size_t n);

/* References: plain loops, with which tests compare the kernels above. naive_product() gives the same bits.
 * The other functions give nearly the same numbers, since they use the C library and double precision. */
void naive_product(const Product *p);
void naive_bias_activate(float *y, const float *bias, uint32_t n, uint32_t stride, uint32_t activation);
void naive_slopes(const float *x, size_t n, uint32_t activation, float *ret);
void naive_activation_backward(float *dy, const float *y, float *dbias, uint32_t n, uint32_t stride,
                uint32_t activation, bool accumulate);
void naive_categorical(const float *logits, const int32_t *choice, uint32_t n, uint32_t stride,
                float *ret_log_probability, float *ret_entropy);
void naive_gaussian(const float *mean, const float *log_sd, const float *action, uint32_t n, uint32_t stride,
                float *ret_log_probability, float *ret_entropy);
void naive_adam(float *parameters, float *m, float *v, const float *gradient, size_t n,
                const AdamScalars *scalars);
