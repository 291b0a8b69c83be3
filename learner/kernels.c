/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Kernels, written so that a compiler makes vectors of them: counted loops without branches, sums in explicit lanes. */
#include "learner/kernels.h"

#include <assert.h>
#include <math.h>

#include "include/policy.h"
#include "learner/vector-math.h"

/* One binary for machines of all kinds. Sanitizers do not survive the resolvers, which run before they are set up. */
#if defined(__x86_64__) && !defined(ACTORD_SANITIZE)
#define WIDE __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define WIDE
#endif

/* A kernel that other files call. Clang 14 names the symbol that chooses among the clones NAME.ifunc, and
 * callers elsewhere look for NAME: there, a function of this file calls it for them. */
#ifdef __clang__
#define KERNEL(type, name, parameters, arguments) \
        WIDE static type name##_wide parameters;  \
        type name parameters {                    \
                return name##_wide arguments;     \
        }                                         \
        WIDE static type name##_wide parameters
#else
#define KERNEL(type, name, parameters, arguments) WIDE type name parameters
#endif

/* 16 numbers side by side: one register, or several, of whatever the machine has. */
typedef float Lanes __attribute__((vector_size(4 * KERNEL_LANES), aligned(4), may_alias));
typedef uint8_t LaneBytes __attribute__((vector_size(KERNEL_LANES), aligned(1), may_alias));
typedef int32_t LaneBits __attribute__((vector_size(4 * KERNEL_LANES)));
typedef float Half __attribute__((vector_size(2 * KERNEL_LANES)));
typedef float Quarter __attribute__((vector_size(KERNEL_LANES)));

/* Adds the lanes in a fixed tree: k to k + 8, k + 4, k + 2, k + 1. */
#define LANES_SUM(x)                                                                       \
        ({                                                                                 \
                Half _h = __builtin_shufflevector((x), (x), 0, 1, 2, 3, 4, 5, 6, 7) +      \
                          __builtin_shufflevector((x), (x), 8, 9, 10, 11, 12, 13, 14, 15); \
                Quarter _q = __builtin_shufflevector(_h, _h, 0, 1, 2, 3) +                 \
                             __builtin_shufflevector(_h, _h, 4, 5, 6, 7);                  \
                (_q[0] + _q[2]) + (_q[1] + _q[3]);                                         \
        })

/* forward_tanh() of lib/forward.c, the same operations in the same order on lanes: a test holds them equal, bit for bit. It is here
 * once more since half of a shard's time outside of BLAS is spent in it, and as a row of its own it would read and write everything
 * twice. A NaN stays one, as a comparison with it is false. */
#define LANES_HOLD(x, bound)                                                                 \
        ({                                                                                   \
                Lanes _low = (Lanes) (((LaneBits) (x) & ~((x) > (bound))) |                  \
                                      ((LaneBits) ((Lanes){} + (bound)) & ((x) > (bound)))); \
                (Lanes)(((LaneBits) _low & ~(_low < -(bound))) |                             \
                                ((LaneBits) ((Lanes){} - (bound)) & (_low < -(bound))));     \
        })

WIDE static void bias_tanh(float *restrict y, const float *restrict bias, uint32_t n, uint32_t stride) {
        for (uint32_t u = 0; u < n; u++)
                for (uint32_t r = 0; r < stride; r += KERNEL_LANES) {
                        Lanes x = *(Lanes *) (y + (size_t) u * stride + r) + bias[u], z, p, q;

                        x = LANES_HOLD(x, 9.02f);
                        z = x * x;
                        p = z * 1.3317613105259e-08f + 2.0582436746910e-05f;
                        p = p * z + 3.4939723676539e-03f;
                        p = p * z + 1.3379666368905e-01f;
                        p = p * z + 1.0f;
                        q = z * 7.7614234280697e-07f + 3.2829900190218e-04f;
                        q = q * z + 2.5870838825164e-02f;
                        q = q * z + 4.6712981684973e-01f;
                        q = q * z + 1.0f;
                        x = x * p / q;
                        *(Lanes *) (y + (size_t) u * stride + r) = LANES_HOLD(x, 1.0f);
                }
}

WIDE static void bias_relu(float *restrict y, const float *restrict bias, uint32_t n, uint32_t stride) {
        for (uint32_t u = 0; u < n; u++)
                for (uint32_t r = 0; r < stride; r += KERNEL_LANES) {
                        Lanes x = *(Lanes *) (y + (size_t) u * stride + r) + bias[u];

                        *(Lanes *) (y + (size_t) u * stride + r) = (Lanes) ((LaneBits) x & (x > 0.0f));
                }
}

WIDE static void bias_only(float *restrict y, const float *restrict bias, uint32_t n, uint32_t stride) {
        for (uint32_t u = 0; u < n; u++)
                for (uint32_t r = 0; r < stride; r++)
                        y[(size_t) u * stride + r] += bias[u];
}

void kernel_bias_activate(float *y, const float *bias, uint32_t n, uint32_t stride, uint32_t activation) {
        switch ((LayerActivation) activation) {
        case LAYER_TANH: bias_tanh(y, bias, n, stride); break;
        case LAYER_RELU: bias_relu(y, bias, n, stride); break;
        case LAYER_NONE: bias_only(y, bias, n, stride); break;
        }
}

KERNEL(void, kernel_activation_backward,
                (float *restrict dy, const float *restrict y, float *restrict dbias, uint32_t n,
                                uint32_t stride, uint32_t activation, bool accumulate),
                (dy, y, dbias, n, stride, activation, accumulate)) {
        for (uint32_t u = 0; u < n; u++) {
                float *d = dy + (size_t) u * stride;
                const float *x = y + (size_t) u * stride;
                Lanes sums = {};

                for (uint32_t r = 0; r < stride; r += KERNEL_LANES) {
                        Lanes a = *(const Lanes *) (d + r), b = *(const Lanes *) (x + r);

                        if (activation == LAYER_TANH)
                                a *= 1.0f - b * b;
                        else if (activation == LAYER_RELU)
                                a = (Lanes) ((LaneBits) a & (b > 0.0f));
                        *(Lanes *) (d + r) = a;
                        sums += a;
                }

                dbias[u] = (accumulate ? dbias[u] : 0.0f) + LANES_SUM(sums);
        }
}

/* Sixteen rows at a time: interleaving row i with row i + 8, four times over, turns the square around. */
KERNEL(void, kernel_transpose, (const float *restrict x, uint32_t n, uint32_t stride, float *restrict ret),
                (x, n, stride, ret)) {
        for (uint32_t u = 0; u < n; u += KERNEL_LANES)
                for (uint32_t r = 0; r < stride; r += KERNEL_LANES) {
                        Lanes a[KERNEL_LANES], b[KERNEL_LANES];

                        for (unsigned i = 0; i < KERNEL_LANES; i++)
                                a[i] = *(const Lanes *) (x + (size_t) (u + i) * stride + r);
                        for (unsigned stage = 0; stage < 4; stage++) {
                                for (unsigned i = 0; i < KERNEL_LANES / 2; i++) {
                                        b[2 * i] = __builtin_shufflevector(a[i], a[i + 8], 0, 16, 1, 17, 2,
                                                        18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
                                        b[2 * i + 1] = __builtin_shufflevector(a[i], a[i + 8], 8, 24, 9, 25,
                                                        10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
                                }
                                for (unsigned i = 0; i < KERNEL_LANES; i++)
                                        a[i] = b[i];
                        }
                        for (unsigned i = 0; i < KERNEL_LANES; i++)
                                *(Lanes *) (ret + (size_t) (r + i) * n + u) = a[i];
                }
}

/* As kernel_transpose(), on bytes, which become floats when they lie in order. */
KERNEL(void, kernel_pixels,
                (const uint8_t *const rows[static KERNEL_LANES], uint32_t n, float scale, uint32_t stride,
                                float *restrict ret),
                (rows, n, scale, stride, ret)) {
        uint32_t k = 0;

        for (; k + KERNEL_LANES <= n; k += KERNEL_LANES) {
                LaneBytes a[KERNEL_LANES], b[KERNEL_LANES];

                for (unsigned i = 0; i < KERNEL_LANES; i++)
                        a[i] = *(const LaneBytes *) (rows[i] + k);
                for (unsigned stage = 0; stage < 4; stage++) {
                        for (unsigned i = 0; i < KERNEL_LANES / 2; i++) {
                                b[2 * i] = __builtin_shufflevector(a[i], a[i + 8], 0, 16, 1, 17, 2, 18, 3,
                                                19, 4, 20, 5, 21, 6, 22, 7, 23);
                                b[2 * i + 1] = __builtin_shufflevector(a[i], a[i + 8], 8, 24, 9, 25, 10, 26,
                                                11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
                        }
                        for (unsigned i = 0; i < KERNEL_LANES; i++)
                                a[i] = b[i];
                }
                for (unsigned i = 0; i < KERNEL_LANES; i++)
                        *(Lanes *) (ret + (size_t) (k + i) * stride) =
                                        __builtin_convertvector(a[i], Lanes) * scale;
        }
        for (; k < n; k++)
                for (unsigned i = 0; i < KERNEL_LANES; i++)
                        ret[(size_t) k * stride + i] = (float) rows[i][k] * scale;
}

KERNEL(void, kernel_categorical,
                (float *restrict logits, const int32_t *restrict choice, uint32_t n, uint32_t stride,
                                float *restrict ret_log_probability, float *restrict ret_entropy),
                (logits, choice, n, stride, ret_log_probability, ret_entropy)) {
        float top[SHARD_ROWS_MAX], sum[SHARD_ROWS_MAX];

        assert(stride <= SHARD_ROWS_MAX);

        for (uint32_t r = 0; r < stride; r++) {
                top[r] = logits[r];
                sum[r] = ret_log_probability[r] = ret_entropy[r] = 0.0f;
        }
        for (uint32_t a = 1; a < n; a++)
                for (uint32_t r = 0; r < stride; r++) {
                        float x = logits[(size_t) a * stride + r];

                        top[r] = x > top[r] ? x : top[r];
                }
        for (uint32_t a = 0; a < n; a++)
                for (uint32_t r = 0; r < stride; r++)
                        sum[r] += vector_exp(logits[(size_t) a * stride + r] - top[r]);
        for (uint32_t r = 0; r < stride; r++)
                top[r] += vector_log(sum[r]);
        for (uint32_t a = 0; a < n; a++)
                for (uint32_t r = 0; r < stride; r++) {
                        float l = logits[(size_t) a * stride + r] - top[r];

                        logits[(size_t) a * stride + r] = l;
                        ret_entropy[r] -= vector_exp(l) * l;
                        ret_log_probability[r] += choice[r] == (int32_t) a ? l : 0.0f;
                }
}

KERNEL(void, kernel_categorical_backward,
                (const float *restrict log_probabilities, const int32_t *restrict choice,
                                const float *restrict entropy, const float *restrict d_log_probability,
                                const float *restrict d_entropy, uint32_t n, uint32_t stride,
                                float *restrict ret_d_logits),
                (log_probabilities, choice, entropy, d_log_probability, d_entropy, n, stride,
                                ret_d_logits)) {
        for (uint32_t a = 0; a < n; a++)
                for (uint32_t r = 0; r < stride; r++) {
                        float l = log_probabilities[(size_t) a * stride + r], p = vector_exp(l);
                        float chosen = choice[r] == (int32_t) a ? 1.0f : 0.0f;

                        ret_d_logits[(size_t) a * stride + r] = d_log_probability[r] * (chosen - p) -
                                                                d_entropy[r] * p * (l + entropy[r]);
                }
}

KERNEL(void, kernel_gaussian,
                (const float *restrict mean, const float *restrict log_sd, const float *restrict action,
                                uint32_t n, uint32_t stride, float *restrict ret_log_probability,
                                float *restrict ret_entropy),
                (mean, log_sd, action, n, stride, ret_log_probability, ret_entropy)) {
        const float half_log_2pi = 0.918938533204672742f;

        for (uint32_t r = 0; r < stride; r++)
                ret_log_probability[r] = ret_entropy[r] = 0.0f;

        for (uint32_t a = 0; a < n; a++)
                for (uint32_t r = 0; r < stride; r++) {
                        size_t i = (size_t) a * stride + r;
                        float z = (action[i] - mean[i]) * vector_exp(-log_sd[i]);

                        ret_log_probability[r] += -0.5f * z * z - log_sd[i] - half_log_2pi;
                        ret_entropy[r] += log_sd[i] + (0.5f + half_log_2pi);
                }
}

KERNEL(void, kernel_gaussian_backward,
                (const float *restrict mean, const float *restrict log_sd, const float *restrict action,
                                const float *restrict d_log_probability, const float *restrict d_entropy,
                                uint32_t n, uint32_t stride, float *restrict ret_d_mean,
                                float *restrict ret_d_log_sd),
                (mean, log_sd, action, d_log_probability, d_entropy, n, stride, ret_d_mean, ret_d_log_sd)) {
        for (uint32_t a = 0; a < n; a++)
                for (uint32_t r = 0; r < stride; r++) {
                        size_t i = (size_t) a * stride + r;
                        float inverse = vector_exp(-log_sd[i]), z = (action[i] - mean[i]) * inverse;

                        ret_d_mean[i] = d_log_probability[r] * z * inverse;
                        ret_d_log_sd[i] = d_log_probability[r] * (z * z - 1.0f) + d_entropy[r];
                }
}

KERNEL(void, kernel_add, (float *restrict x, const float *restrict y, size_t n), (x, y, n)) {
        for (size_t i = 0; i < n; i++)
                x[i] += y[i];
}

KERNEL(double, kernel_sum, (const float *x, size_t n), (x, n)) {
        double lanes[KERNEL_LANES] = {}, sum = 0.0;
        size_t i = 0;

        for (; i + KERNEL_LANES <= n; i += KERNEL_LANES)
                for (size_t l = 0; l < KERNEL_LANES; l++)
                        lanes[l] += (double) x[i + l];
        for (size_t l = 0; i < n; i++, l++)
                lanes[l] += (double) x[i];
        for (size_t l = 0; l < KERNEL_LANES; l++)
                sum += lanes[l];
        return sum;
}

KERNEL(double, kernel_square_sum, (const float *x, size_t n), (x, n)) {
        double lanes[KERNEL_LANES] = {}, sum = 0.0;
        size_t i = 0;

        for (; i + KERNEL_LANES <= n; i += KERNEL_LANES)
                for (size_t l = 0; l < KERNEL_LANES; l++)
                        lanes[l] += (double) x[i + l] * (double) x[i + l];
        for (size_t l = 0; i < n; i++, l++)
                lanes[l] += (double) x[i] * (double) x[i];
        for (size_t l = 0; l < KERNEL_LANES; l++)
                sum += lanes[l];
        return sum;
}

KERNEL(void, kernel_adam,
                (float *restrict parameters, float *restrict m, float *restrict v,
                                const float *restrict gradient, size_t n, const AdamScalars *scalars),
                (parameters, m, v, gradient, n, scalars)) {
        /* Corrections are computed in double precision and rounded once; the sums are single, as the frameworks' are. */
        const float beta1 = (float) scalars->beta1, rest1 = (float) (1.0 - scalars->beta1);
        const float beta2 = (float) scalars->beta2, rest2 = (float) (1.0 - scalars->beta2);
        const float scale = (float) scalars->gradient_scale, step = (float) scalars->step_size;
        const float inverse_root = (float) (1.0 / scalars->root_correction);
        const float epsilon = (float) scalars->epsilon;

        for (size_t i = 0; i < n; i++) {
                float g = gradient[i] * scale;

                m[i] = m[i] * beta1 + g * rest1;
                v[i] = v[i] * beta2 + g * g * rest2;
                parameters[i] -= step * m[i] / (sqrtf(v[i]) * inverse_root + epsilon);
        }
}

KERNEL(void, kernel_exp, (float *x, size_t n), (x, n)) {
        for (size_t i = 0; i < n; i++)
                x[i] = vector_exp(x[i]);
}

KERNEL(void, kernel_log, (float *x, size_t n), (x, n)) {
        for (size_t i = 0; i < n; i++)
                x[i] = vector_log(x[i]);
}

typedef double Group __attribute__((vector_size(8 * KERNEL_GROUP), aligned(8), may_alias));

KERNEL(void, kernel_clear_group, (double *g, const double *x, size_t rows, size_t n), (g, x, rows, n)) {
        Group *columns = (Group *) g;

        for (size_t j = 0; j < rows; j++) {
                const double *b = x + j * n;
                Group projection = {};

                for (size_t k = 0; k < n; k++)
                        projection += columns[k] * b[k];
                for (size_t k = 0; k < n; k++)
                        columns[k] -= projection * b[k];
        }
}

KERNEL(void, kernel_clear_row, (double *a, const double *x, size_t rows, size_t n), (a, x, rows, n)) {
        size_t whole = n - n % KERNEL_GROUP;

        for (size_t j = 0; j < rows; j++) {
                const double *b = x + j * n;
                double projection = 0.0;

                for (size_t k = 0; k < n; k++)
                        projection += a[k] * b[k];
                for (size_t k = 0; k < whole; k += KERNEL_GROUP)
                        *(Group *) (a + k) -= projection * *(const Group *) (b + k);
                for (size_t k = whole; k < n; k++)
                        a[k] -= projection * b[k];
        }
}
