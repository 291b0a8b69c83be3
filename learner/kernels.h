/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The loops in which a learner spends its time, BLAS apart. Numbers of a shard lie in columns: [n][stride] is n columns of `stride`
 * rows each, so that every loop runs over rows with full vectors, however narrow a layer is. stride is a multiple of 16; rows beyond
 * the shard's last are zeros and get zero gradients.
 *
 * Each kernel is compiled for several widths of vectors. The results are equal: sums run in 16 fixed lanes, which are then added in
 * a fixed order, and nothing is fused or reordered. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
        KERNEL_LANES = 16,
        KERNEL_GROUP = 16, /* rows side by side */
        SHARD_ROWS_MAX = 64,
};

typedef struct AdamScalars {
        double step_size, beta1, beta2, epsilon; /* step_size: rate / (1 - beta1^t) */
        double root_correction;                  /* sqrt(1 - beta2^t) */
        double gradient_scale;                   /* that cuts the gradient to its greatest norm */
} AdamScalars;

/* Layers */

/* y = activation(y + bias), y [n][stride]; activation: LayerActivation */
void kernel_bias_activate(float *y, const float *bias, uint32_t n, uint32_t stride, uint32_t activation);
/* dy *= activation'(y); dbias = (accumulate ? dbias : 0) + row sums of dy */
void kernel_activation_backward(float *dy, const float *y, float *dbias, uint32_t n, uint32_t stride,
                uint32_t activation, bool accumulate);

/* n bytes of each of KERNEL_LANES rows become columns: ret [n][stride] = scale * rows */
void kernel_pixels(const uint8_t *const rows[static KERNEL_LANES], uint32_t n, float scale, uint32_t stride,
                float *ret);
/* x [n][stride] -> ret [stride][n]; n is a multiple of 16 too */
void kernel_transpose(const float *x, uint32_t n, uint32_t stride, float *ret);

/* Outputs as distributions: columns in, one number a row out; and back */

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
double kernel_square_sum(const float *x, size_t n);
double kernel_sum(const float *x, size_t n);
void kernel_adam(float *parameters, float *m, float *v, const float *gradient, size_t n,
                const AdamScalars *scalars);
/* x[i] = exp(x[i]), log(x[i]) */
void kernel_exp(float *x, size_t n);
void kernel_log(float *x, size_t n);

/* Takes from row a, or from each column of g [n][KERNEL_GROUP], what it has of the rows of x [rows][n], unit vectors, one after the other. A
 * sum is a chain of additions that wait for each other; side by side they wait together, and each is added up from first to last. */
void kernel_clear_row(double *a, const double *x, size_t rows, size_t n);
void kernel_clear_group(double *g, const double *x, size_t rows, size_t n);

/* References: the plain loops that the kernels above and BLAS are tested against. c [m][n] = beta * c + a' b' */
void naive_matmul(const float *a, bool transpose_a, const float *b, bool transpose_b, float beta, uint32_t m,
                uint32_t n, uint32_t k, float *c);
void naive_bias_activate(float *y, const float *bias, uint32_t n, uint32_t stride, uint32_t activation);
void naive_activation_backward(float *dy, const float *y, float *dbias, uint32_t n, uint32_t stride,
                uint32_t activation, bool accumulate);
void naive_categorical(const float *logits, const int32_t *choice, uint32_t n, uint32_t stride,
                float *ret_log_probability, float *ret_entropy);
void naive_gaussian(const float *mean, const float *log_sd, const float *action, uint32_t n, uint32_t stride,
                float *ret_log_probability, float *ret_entropy);
void naive_adam(float *parameters, float *m, float *v, const float *gradient, size_t n,
                const AdamScalars *scalars);
