/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kernels of kernels.c as plain loops. Tests compare with them, and they are easier to read. */
#include <math.h>

#include "include/policy.h"
#include "learner/kernel/kernels.h"

void naive_product(const Product *p) {
        for (uint32_t i = 0; i < p->m; i++)
                for (uint32_t j = 0; j < p->n; j++) {
                        float *c = &p->c[i * p->c_m + j];
                        float sum = p->bias ? p->bias[i] : 0.0f;

                        if (p->goes_on)
                                sum = *c;
                        for (uint32_t k = 0; k < p->k; k++)
                                sum = fmaf(p->a[i * p->a_m + k * p->a_k], p->b[k * p->b_k + j], sum);
                        *c = sum;
                }
}

static double sigmoid(double x) {
        return 1.0 / (1.0 + exp(-x));
}

void naive_slopes(const float *x, size_t n, uint32_t activation, float *ret) {
        for (size_t i = 0; i < n; i++) {
                double at = (double) x[i], s = sigmoid(at), t = tanh(log1p(exp(at)));

                ret[i] = (float) (activation == LAYER_SILU ? s + at * s * (1.0 - s)
                                                           : t + at * s * (1.0 - t * t));
        }
}

void naive_bias_activate(float *y, const float *bias, uint32_t n, uint32_t stride, uint32_t activation) {
        for (uint32_t u = 0; u < n; u++)
                for (uint32_t r = 0; r < stride; r++) {
                        float *x = &y[u * stride + r];

                        *x += bias[u];
                        if (activation == LAYER_TANH)
                                *x = tanhf(*x);
                        else if (activation == LAYER_RELU)
                                *x = fmaxf(*x, 0.0f);
                        else if (activation == LAYER_SILU)
                                *x = (float) ((double) *x * sigmoid((double) *x));
                        else if (activation == LAYER_MISH)
                                *x = (float) ((double) *x * tanh(log1p(exp((double) *x))));
                }
}

void naive_activation_backward(float *dy, const float *y, float *dbias, uint32_t n, uint32_t stride,
                uint32_t activation, bool accumulate) {
        for (uint32_t u = 0; u < n; u++) {
                double sum = accumulate ? dbias[u] : 0.0;

                for (uint32_t r = 0; r < stride; r++) {
                        float x = y[u * stride + r], *d = &dy[u * stride + r];

                        if (activation == LAYER_TANH)
                                *d *= 1.0f - x * x;
                        else if (activation == LAYER_RELU && x <= 0.0f)
                                *d = 0.0f;
                        else if (activation == LAYER_SILU || activation == LAYER_MISH)
                                *d *= x;
                        sum += (double) *d;
                }
                dbias[u] = (float) sum;
        }
}

void naive_categorical(const float *logits, const int32_t *choice, uint32_t n, uint32_t stride,
                float *ret_log_probability, float *ret_entropy) {
        for (uint32_t r = 0; r < stride; r++) {
                double sum = 0.0, entropy = 0.0;

                for (uint32_t a = 0; a < n; a++)
                        sum += exp((double) logits[a * stride + r]);
                for (uint32_t a = 0; a < n; a++) {
                        double l = (double) logits[a * stride + r] - log(sum);

                        entropy -= exp(l) * l;
                        if (choice[r] == (int32_t) a)
                                ret_log_probability[r] = (float) l;
                }
                ret_entropy[r] = (float) entropy;
        }
}

void naive_gaussian(const float *mean, const float *log_sd, const float *action, uint32_t n, uint32_t stride,
                float *ret_log_probability, float *ret_entropy) {
        for (uint32_t r = 0; r < stride; r++) {
                double log_probability = 0.0, entropy = 0.0;

                for (uint32_t a = 0; a < n; a++) {
                        double sd = exp((double) log_sd[a * stride + r]);
                        double z = ((double) action[a * stride + r] - (double) mean[a * stride + r]) / sd;

                        log_probability -= 0.5 * z * z + log(sd) + 0.5 * log(2.0 * M_PI);
                        entropy += log(sd) + 0.5 * (1.0 + log(2.0 * M_PI));
                }
                ret_log_probability[r] = (float) log_probability;
                ret_entropy[r] = (float) entropy;
        }
}

void naive_adam(float *parameters, float *m, float *v, const float *gradient, size_t n,
                const AdamScalars *scalars) {
        for (size_t i = 0; i < n; i++) {
                double g = (double) gradient[i] * scalars->gradient_scale;
                double m1 = scalars->beta1 * (double) m[i] + (1.0 - scalars->beta1) * g;
                double v1 = scalars->beta2 * (double) v[i] + (1.0 - scalars->beta2) * g * g;
                double root = sqrt(v1) / scalars->root_correction;

                m[i] = (float) m1;
                v[i] = (float) v1;
                parameters[i] -= (float) (scalars->step_size * m1 / (root + scalars->epsilon));
        }
}
