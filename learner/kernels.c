/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Kernels, written so that a compiler makes vectors of them: counted loops without branches, sums in explicit lanes. */
#include "learner/kernels.h"

#include <assert.h>
#include <math.h>

#include "include/policy.h"
#include "learner/vector-math.h"
#include "lib/forward.h"

/* One binary for machines of all kinds. Sanitizers do not survive the resolvers, which run before they are set up. */
#if defined(__x86_64__) && !defined(ACTORD_SANITIZE)
#define WIDE __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define WIDE
#endif

/* Adds 16 lanes in a fixed tree. */
static inline float lanes_sum(const float lanes[KERNEL_LANES]) {
        float s[8];

        for (unsigned i = 0; i < 8; i++)
                s[i] = lanes[i] + lanes[i + 8];
        for (unsigned i = 0; i < 4; i++)
                s[i] = s[i] + s[i + 4];
        return (s[0] + s[2]) + (s[1] + s[3]);
}

WIDE static void bias_relu(float *restrict y, const float *restrict bias, uint32_t n, uint32_t stride) {
        for (uint32_t u = 0; u < n; u++)
                for (uint32_t r = 0; r < stride; r++) {
                        float x = y[(size_t) u * stride + r] + bias[u];

                        y[(size_t) u * stride + r] = x > 0.0f ? x : 0.0f;
                }
}

WIDE static void bias_only(float *restrict y, const float *restrict bias, uint32_t n, uint32_t stride) {
        for (uint32_t u = 0; u < n; u++)
                for (uint32_t r = 0; r < stride; r++)
                        y[(size_t) u * stride + r] += bias[u];
}

void kernel_bias_activate(float *y, const float *bias, uint32_t n, uint32_t stride, uint32_t activation) {
        switch ((LayerActivation) activation) {
        case LAYER_TANH:
                bias_only(y, bias, n, stride);
                forward_tanh_row(y, (size_t) n * stride);
                break;
        case LAYER_RELU: bias_relu(y, bias, n, stride); break;
        case LAYER_NONE: bias_only(y, bias, n, stride); break;
        }
}

WIDE void kernel_activation_backward(float *restrict dy, const float *restrict y, float *restrict dbias,
                uint32_t n, uint32_t stride, uint32_t activation, bool accumulate) {
        for (uint32_t u = 0; u < n; u++) {
                float *d = dy + (size_t) u * stride;
                const float *x = y + (size_t) u * stride;
                float lanes[KERNEL_LANES] = {};

                if (activation == LAYER_TANH)
                        for (uint32_t r = 0; r < stride; r += KERNEL_LANES)
                                for (uint32_t l = 0; l < KERNEL_LANES; l++) {
                                        d[r + l] *= 1.0f - x[r + l] * x[r + l];
                                        lanes[l] += d[r + l];
                                }
                else if (activation == LAYER_RELU)
                        for (uint32_t r = 0; r < stride; r += KERNEL_LANES)
                                for (uint32_t l = 0; l < KERNEL_LANES; l++) {
                                        d[r + l] = x[r + l] > 0.0f ? d[r + l] : 0.0f;
                                        lanes[l] += d[r + l];
                                }
                else
                        for (uint32_t r = 0; r < stride; r += KERNEL_LANES)
                                for (uint32_t l = 0; l < KERNEL_LANES; l++)
                                        lanes[l] += d[r + l];

                dbias[u] = (accumulate ? dbias[u] : 0.0f) + lanes_sum(lanes);
        }
}

WIDE void kernel_categorical(float *restrict logits, const int32_t *restrict choice, uint32_t n,
                uint32_t stride, float *restrict ret_log_probability, float *restrict ret_entropy) {
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

WIDE void kernel_categorical_backward(const float *restrict log_probabilities,
                const int32_t *restrict choice, const float *restrict entropy,
                const float *restrict d_log_probability, const float *restrict d_entropy, uint32_t n,
                uint32_t stride, float *restrict ret_d_logits) {
        for (uint32_t a = 0; a < n; a++)
                for (uint32_t r = 0; r < stride; r++) {
                        float l = log_probabilities[(size_t) a * stride + r], p = vector_exp(l);
                        float chosen = choice[r] == (int32_t) a ? 1.0f : 0.0f;

                        ret_d_logits[(size_t) a * stride + r] = d_log_probability[r] * (chosen - p) -
                                                                d_entropy[r] * p * (l + entropy[r]);
                }
}

WIDE void kernel_gaussian(const float *restrict mean, const float *restrict log_sd,
                const float *restrict action, uint32_t n, uint32_t stride,
                float *restrict ret_log_probability, float *restrict ret_entropy) {
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

WIDE void kernel_gaussian_backward(const float *restrict mean, const float *restrict log_sd,
                const float *restrict action, const float *restrict d_log_probability,
                const float *restrict d_entropy, uint32_t n, uint32_t stride, float *restrict ret_d_mean,
                float *restrict ret_d_log_sd) {
        for (uint32_t a = 0; a < n; a++)
                for (uint32_t r = 0; r < stride; r++) {
                        size_t i = (size_t) a * stride + r;
                        float inverse = vector_exp(-log_sd[i]), z = (action[i] - mean[i]) * inverse;

                        ret_d_mean[i] = d_log_probability[r] * z * inverse;
                        ret_d_log_sd[i] = d_log_probability[r] * (z * z - 1.0f) + d_entropy[r];
                }
}

WIDE void kernel_add(float *restrict x, const float *restrict y, size_t n) {
        for (size_t i = 0; i < n; i++)
                x[i] += y[i];
}

WIDE double kernel_sum(const float *x, size_t n) {
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

WIDE double kernel_square_sum(const float *x, size_t n) {
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

WIDE void kernel_adam(float *restrict parameters, float *restrict m, float *restrict v,
                const float *restrict gradient, size_t n, const AdamScalars *scalars) {
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

WIDE void kernel_exp(float *x, size_t n) {
        for (size_t i = 0; i < n; i++)
                x[i] = vector_exp(x[i]);
}

WIDE void kernel_log(float *x, size_t n) {
        for (size_t i = 0; i < n; i++)
                x[i] = vector_log(x[i]);
}
