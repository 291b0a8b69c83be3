/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kernels of kernels-wide.h for each width of vectors, and the choice of a width. Forced inlining puts
 * the elementary functions into the loops, which are compiled for each kind of CPU. */
#include "learner/kernel/kernels.h"

#include <assert.h>
#include <math.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "include/fragment.h"
#include "include/policy.h"
#include "lib/elementary.h"
#include "lib/width.h"

typedef uint8_t LaneBytes __attribute__((vector_size(KERNEL_LANES), aligned(1), may_alias));
typedef double Group __attribute__((vector_size(8 * KERNEL_GROUP), aligned(8), may_alias));

/* Products in double precision are computed in blocks of BLOCK_ROWS rows of sums. Each row is one vector of
 * BLOCK_WIDTH sums over BLOCK_DEPTH numbers, which are first copied next to each other. TAKE_BLOCK: how many
 * numbers are handled at once, so that they stay in the cache. */
enum { BLOCK_WIDTH = 8, BLOCK_ROWS = 4, BLOCK_DEPTH = 128, TAKE_BLOCK = 1024 };
enum { NARROW_UNITS = 64 }; /* whose gradients kernel_backward_weight_narrow() computes at once */
typedef double BlockRow __attribute__((vector_size(8 * BLOCK_WIDTH), aligned(8), may_alias));

/* X(type, name, parameters, arguments): all kernels that exist for each width. kernel_NAME() calls the one
 * for the process's width. */
#define KERNELS(X)                                                                                          \
        X(void, pixels,                                                                                     \
                        (const uint8_t *const rows[static KERNEL_LANES], uint32_t n, float scale,           \
                                        uint32_t stride, float *ret),                                       \
                        (rows, n, scale, stride, ret))                                                      \
        X(void, bias_activate,                                                                              \
                        (float *y, const float *bias, uint32_t n, uint32_t stride, uint32_t activation),    \
                        (y, bias, n, stride, activation))                                                   \
        X(void, activate_sloped, (float *y, size_t n, uint32_t activation, float *ret_slopes),              \
                        (y, n, activation, ret_slopes))                                                     \
        X(void, activation_backward,                                                                        \
                        (float *dy, const float *y, float *dbias, uint32_t n, uint32_t stride,              \
                                        uint32_t activation, bool accumulate),                              \
                        (dy, y, dbias, n, stride, activation, accumulate))                                  \
        X(void, categorical,                                                                                \
                        (float *logits, const int32_t *choice, uint32_t n, uint32_t stride,                 \
                                        float *ret_log_probability, float *ret_entropy),                    \
                        (logits, choice, n, stride, ret_log_probability, ret_entropy))                      \
        X(void, categorical_backward,                                                                       \
                        (const float *log_probabilities, const int32_t *choice, const float *entropy,       \
                                        const float *d_log_probability, const float *d_entropy, uint32_t n, \
                                        uint32_t stride, float *ret_d_logits),                              \
                        (log_probabilities, choice, entropy, d_log_probability, d_entropy, n, stride,       \
                                        ret_d_logits))                                                      \
        X(void, gaussian,                                                                                   \
                        (const float *mean, const float *log_sd, const float *action, uint32_t n,           \
                                        uint32_t stride, float *ret_log_probability, float *ret_entropy),   \
                        (mean, log_sd, action, n, stride, ret_log_probability, ret_entropy))                \
        X(void, gaussian_backward,                                                                          \
                        (const float *mean, const float *log_sd, const float *action,                       \
                                        const float *d_log_probability, const float *d_entropy, uint32_t n, \
                                        uint32_t stride, float *ret_d_mean, float *ret_d_log_sd),           \
                        (mean, log_sd, action, d_log_probability, d_entropy, n, stride, ret_d_mean,         \
                                        ret_d_log_sd))                                                      \
        X(void, add, (float *x, const float *y, size_t n), (x, y, n))                                       \
        X(void, parts_add,                                                                                  \
                        (float *const parts[], uint32_t n_parts, size_t first, size_t n, double *squares),  \
                        (parts, n_parts, first, n, squares))                                                \
        X(void, adam,                                                                                       \
                        (float *parameters, float *m, float *v, const float *gradient, size_t n,            \
                                        const AdamScalars *scalars),                                        \
                        (parameters, m, v, gradient, n, scalars))                                           \
        X(void, double_product, (const DoubleProduct *p), (p))                                              \
        X(void, double_dots, (const double *a, uint32_t n_rows, size_t n, const double *x, double *ret),    \
                        (a, n_rows, n, x, ret))                                                             \
        X(void, double_take, (const double *a, uint32_t n_rows, size_t n, const double *x, double *y),      \
                        (a, n_rows, n, x, y))                                                               \
        X(void, clear_row, (double *a, const double *x, size_t rows, size_t n), (a, x, rows, n))            \
        X(void, clear_group, (double *g, const double *x, size_t rows, size_t n), (g, x, rows, n))

typedef struct Kernels {
#define X(type, name, parameters, arguments) type(*name) parameters;
        KERNELS(X)
#undef X
} Kernels;

/* Adds lane k to lane k + 8, then k + 4, k + 2, k + 1. */
static inline __attribute__((always_inline)) float lanes_sum(const float lanes[KERNEL_LANES]) {
        const LooseQuad *l = (const LooseQuad *) lanes;
        Quad q = (l[0] + l[2]) + (l[1] + l[3]);

        return (q[0] + q[2]) + (q[1] + q[3]);
}

#define KERNEL_TEMPLATE "learner/kernel/kernels-wide.h"
#include "lib/each-width.h"

#define X(type, name, parameters, arguments)             \
        type kernel_##name parameters {                  \
                return kernels_chosen()->name arguments; \
        }
KERNELS(X)
#undef X

/* The products of a dense layer */

void kernel_forward(const float *weight, const float *bias, const float *x, uint32_t n_out, uint32_t n_in,
                uint32_t rows, float *y) {
        kernel_product(&(Product){
                        .m = n_out,
                        .n = rows,
                        .k = n_in,
                        .a = weight,
                        .a_m = n_in,
                        .a_k = 1,
                        .b = x,
                        .b_k = rows,
                        .bias = bias,
                        .c = y,
                        .c_m = rows,
        });
}

void kernel_backward_input(const float *weight, const float *dy, uint32_t n_out, uint32_t n_in,
                uint32_t rows, bool accumulate, float *dx) {
        kernel_product(&(Product){
                        .m = n_in,
                        .n = rows,
                        .k = n_out,
                        .a = weight,
                        .a_m = 1,
                        .a_k = n_in,
                        .b = dy,
                        .b_k = rows,
                        .goes_on = accumulate,
                        .c = dx,
                        .c_m = rows,
        });
}

void kernel_backward_weight_narrow(const float *dyt, const float *x, uint32_t n_out, uint32_t n_in,
                uint32_t rows, bool accumulate, float *dweight) {
        float part[NARROW_MAX][NARROW_UNITS];

        assert(n_in <= NARROW_MAX);

        for (uint32_t first = 0; first < n_out; first += NARROW_UNITS) {
                uint32_t n = n_out - first < NARROW_UNITS ? n_out - first : NARROW_UNITS;
                float *dw = dweight + (size_t) first * n_in;

                for (uint32_t u = 0; accumulate && u < n; u++)
                        for (uint32_t i = 0; i < n_in; i++)
                                part[i][u] = dw[u * n_in + i];
                kernel_product(&(Product){
                                .m = n_in,
                                .n = n,
                                .k = rows,
                                .a = x,
                                .a_m = rows,
                                .a_k = 1,
                                .b = dyt + first,
                                .b_k = kernel_padded(n_out),
                                .goes_on = accumulate,
                                .c = part[0],
                                .c_m = NARROW_UNITS,
                });
                for (uint32_t u = 0; u < n; u++)
                        for (uint32_t i = 0; i < n_in; i++)
                                dw[u * n_in + i] = part[i][u];
        }
}

void kernel_backward_weight(const float *dy, const float *xt, uint32_t n_out, uint32_t n_in, uint32_t rows,
                bool accumulate, float *dweight) {
        kernel_product(&(Product){
                        .m = n_out,
                        .n = n_in,
                        .k = rows,
                        .a = dy,
                        .a_m = rows,
                        .a_k = 1,
                        .b = xt,
                        .b_k = kernel_padded(n_in),
                        .goes_on = accumulate,
                        .c = dweight,
                        .c_m = n_in,
        });
}
