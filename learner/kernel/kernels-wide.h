/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kernels of kernels.h, as a template for lib/each-width.h: loops without branches, which a compiler
 * vectorises, or sums side by side that are added in a fixed order. The file has no include guard, on
 * purpose. */

enum { KERNEL(PARTS) = KERNEL_LANES / KERNEL_WIDTH };

KERNEL_TARGET static void KERNEL(pixels)(const uint8_t *const rows[static KERNEL_LANES], uint32_t n,
                float scale, uint32_t stride, float *restrict ret) {
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
                for (unsigned i = 0; i < KERNEL_LANES; i++) {
                        float *to = ret + (size_t) (k + i) * stride;

                        for (unsigned l = 0; l < KERNEL_LANES; l++)
                                to[l] = (float) ((const uint8_t *) &a[i])[l] * scale;
                }
        }
        for (; k < n; k++)
                for (unsigned i = 0; i < KERNEL_LANES; i++)
                        ret[(size_t) k * stride + i] = (float) rows[i][k] * scale;
}

/* Layers */

KERNEL_TARGET static void KERNEL(bias_activate)(float *restrict y, const float *restrict bias, uint32_t n,
                uint32_t stride, uint32_t activation) {
        for (uint32_t u = 0; u < n; u++)
                for (uint32_t r = 0; r < stride; r++)
                        y[(size_t) u * stride + r] += bias[u];
        kernel_activate(y, (size_t) n * stride, activation);
}

KERNEL_TARGET static void KERNEL(activate_sloped)(
                float *restrict y, size_t n, uint32_t activation, float *restrict ret_slopes) {
        assert(activation == LAYER_SILU || activation == LAYER_MISH);

        if (activation == LAYER_SILU)
                for (size_t i = 0; i < n; i++)
                        y[i] = elementary_silu_sloped(y[i], &ret_slopes[i]);
        else
                for (size_t i = 0; i < n; i++)
                        y[i] = elementary_mish_sloped(y[i], &ret_slopes[i]);
}

/* Multiplies the gradients of one unit by the slopes of the activation, and returns their sum. activation is
 * a constant where this is inlined. */
KERNEL_TARGET static inline __attribute__((always_inline)) float KERNEL(unit_backward)(
                float *dy, const float *y, uint32_t stride, uint32_t activation) {
        KERNEL(Vector) sums[KERNEL(PARTS)] = {};

        for (uint32_t r = 0; r < stride; r += KERNEL_LANES)
#pragma GCC unroll 4
                for (uint32_t part = 0; part < KERNEL(PARTS); part++) {
                        size_t at = r + part * KERNEL_WIDTH;
                        KERNEL(Vector) d = *(const KERNEL(Loose) *) (dy + at);
                        KERNEL(Vector) x = *(const KERNEL(Loose) *) (y + at);

                        if (activation == LAYER_TANH)
                                d *= KERNEL_FUSED(-x, x, (KERNEL(Vector)){} + 1.0f);
                        else if (activation == LAYER_RELU)
                                d = (KERNEL(Vector))((KERNEL(Mask)) d & (x > 0.0f));
                        else if (activation != LAYER_NONE)
                                d *= x;
                        *(KERNEL(Loose) *) (dy + at) = d;
                        sums[part] += d;
                }
        return lanes_sum((const float *) sums);
}

/* A separate function, so that the compiler's code for other activations does not change. */
KERNEL_TARGET static __attribute__((noinline)) float KERNEL(slopes_backward)(
                float *d, const float *slopes, uint32_t stride) {
        return KERNEL(unit_backward)(d, slopes, stride, LAYER_MISH);
}

KERNEL_TARGET static void KERNEL(activation_backward)(float *restrict dy, const float *restrict y,
                float *restrict dbias, uint32_t n, uint32_t stride, uint32_t activation, bool accumulate) {
        for (uint32_t u = 0; u < n; u++) {
                float *d = dy + (size_t) u * stride, sum = 0.0f;
                const float *x = y + (size_t) u * stride;

                switch ((LayerActivation) activation) {
                case LAYER_NONE: sum = KERNEL(unit_backward)(d, x, stride, LAYER_NONE); break;
                case LAYER_TANH: sum = KERNEL(unit_backward)(d, x, stride, LAYER_TANH); break;
                case LAYER_RELU: sum = KERNEL(unit_backward)(d, x, stride, LAYER_RELU); break;
                case LAYER_SILU:
                case LAYER_MISH: sum = KERNEL(slopes_backward)(d, x, stride); break;
                }
                dbias[u] = (accumulate ? dbias[u] : 0.0f) + sum;
        }
}

/* Distributions */

KERNEL_TARGET static void KERNEL(categorical)(float *restrict logits, const int32_t *restrict choice,
                uint32_t n, uint32_t stride, float *restrict ret_log_probability,
                float *restrict ret_entropy) {
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
                        sum[r] += elementary_exp(logits[(size_t) a * stride + r] - top[r]);
        for (uint32_t r = 0; r < stride; r++)
                top[r] += elementary_log(sum[r]);
        for (uint32_t a = 0; a < n; a++)
                for (uint32_t r = 0; r < stride; r++) {
                        float l = logits[(size_t) a * stride + r] - top[r];

                        logits[(size_t) a * stride + r] = l;
                        ret_entropy[r] -= elementary_exp(l) * l;
                        ret_log_probability[r] += choice[r] == (int32_t) a ? l : 0.0f;
                }
}

KERNEL_TARGET static void KERNEL(categorical_backward)(const float *restrict log_probabilities,
                const int32_t *restrict choice, const float *restrict entropy,
                const float *restrict d_log_probability, const float *restrict d_entropy, uint32_t n,
                uint32_t stride, float *restrict ret_d_logits) {
        for (uint32_t a = 0; a < n; a++)
                for (uint32_t r = 0; r < stride; r++) {
                        float l = log_probabilities[(size_t) a * stride + r], p = elementary_exp(l);
                        float chosen = choice[r] == (int32_t) a ? 1.0f : 0.0f;

                        ret_d_logits[(size_t) a * stride + r] = d_log_probability[r] * (chosen - p) -
                                                                d_entropy[r] * p * (l + entropy[r]);
                }
}

KERNEL_TARGET static void KERNEL(gaussian)(const float *restrict mean, const float *restrict log_sd,
                const float *restrict action, uint32_t n, uint32_t stride,
                float *restrict ret_log_probability, float *restrict ret_entropy) {
        const float half_log_2pi = 0.918938533204672742f;

        for (uint32_t r = 0; r < stride; r++)
                ret_log_probability[r] = ret_entropy[r] = 0.0f;

        for (uint32_t a = 0; a < n; a++)
                for (uint32_t r = 0; r < stride; r++) {
                        size_t i = (size_t) a * stride + r;
                        float z = (action[i] - mean[i]) * elementary_exp(-log_sd[i]);

                        ret_log_probability[r] += -0.5f * z * z - log_sd[i] - half_log_2pi;
                        ret_entropy[r] += log_sd[i] + (0.5f + half_log_2pi);
                }
}

KERNEL_TARGET static void KERNEL(gaussian_backward)(const float *restrict mean, const float *restrict log_sd,
                const float *restrict action, const float *restrict d_log_probability,
                const float *restrict d_entropy, uint32_t n, uint32_t stride, float *restrict ret_d_mean,
                float *restrict ret_d_log_sd) {
        for (uint32_t a = 0; a < n; a++)
                for (uint32_t r = 0; r < stride; r++) {
                        size_t i = (size_t) a * stride + r;
                        float inverse = elementary_exp(-log_sd[i]), z = (action[i] - mean[i]) * inverse;

                        ret_d_mean[i] = d_log_probability[r] * z * inverse;
                        ret_d_log_sd[i] = d_log_probability[r] * (z * z - 1.0f) + d_entropy[r];
                }
}

/* Flat arrays */

KERNEL_TARGET static void KERNEL(add)(float *restrict x, const float *restrict y, size_t n) {
        for (size_t i = 0; i < n; i++)
                x[i] += y[i];
}

/* Adds one vector of each part, in a tree. n_parts is a constant where this is inlined for the usual numbers
 * of parts, so that the vectors stay in registers. */
KERNEL_TARGET static inline __attribute__((always_inline)) KERNEL(Vector)
                KERNEL(parts_at)(float *const parts[], uint32_t n_parts, size_t at) {
        KERNEL(Vector) sums[GRADIENT_PARTS];

#pragma GCC unroll 4
        for (uint32_t part = 0; part < n_parts; part++)
                sums[part] = *(const KERNEL(Loose) *) (parts[part] + at);
#pragma GCC unroll 2
        for (uint32_t step = 1; step < n_parts; step *= 2)
#pragma GCC unroll 2
                for (uint32_t part = 0; part + step < n_parts; part += 2 * step)
                        sums[part] += sums[part + step];
        return sums[0];
}

KERNEL_TARGET static inline __attribute__((always_inline)) void KERNEL(parts_sum)(
                float *const parts[], uint32_t n_parts, size_t first, size_t n, double *squares) {
        double sums[KERNEL_LANES];
        size_t end = first + n, i = first;
        float *ret = parts[0];

        memcpy(sums, squares, sizeof(sums));
        for (; i + KERNEL_LANES <= end; i += KERNEL_LANES) {
                for (size_t at = i; at < i + KERNEL_LANES; at += KERNEL_WIDTH)
                        *(KERNEL(Loose) *) (ret + at) = KERNEL(parts_at)(parts, n_parts, at);
                for (size_t l = 0; l < KERNEL_LANES; l++)
                        sums[l] += (double) ret[i + l] * (double) ret[i + l];
        }
        for (size_t l = 0; i < end; i++, l++) {
                for (uint32_t step = 1; step < n_parts; step *= 2)
                        for (uint32_t part = 0; part + step < n_parts; part += 2 * step)
                                parts[part][i] += parts[part + step][i];
                sums[l] += (double) ret[i] * (double) ret[i];
        }
        memcpy(squares, sums, sizeof(sums));
}

KERNEL_TARGET static void KERNEL(parts_add)(
                float *const parts[], uint32_t n_parts, size_t first, size_t n, double *squares) {
        switch (n_parts) {
        case 1: KERNEL(parts_sum)(parts, 1, first, n, squares); break;
        case 2: KERNEL(parts_sum)(parts, 2, first, n, squares); break;
        case 4: KERNEL(parts_sum)(parts, 4, first, n, squares); break;
        default: KERNEL(parts_sum)(parts, n_parts, first, n, squares); break;
        }
}

/* x, or 0 if x is between -least and least. A mask instead of a choice, since with AVX2 the compiler makes
 * no vectors of a loop in which a product is needed only sometimes. */
KERNEL_TARGET static inline __attribute__((always_inline)) float KERNEL(unless_below)(float x, float least) {
        uint32_t bits = bits_of_float(x);
        int32_t is_large = (int32_t) (bits & INT32_MAX) >= (int32_t) bits_of_float(least);

        return float_of_bits(bits & -(uint32_t) is_large);
}

KERNEL_TARGET static void KERNEL(adam)(float *restrict parameters, float *restrict m, float *restrict v,
                const float *restrict gradient, size_t n, const AdamScalars *scalars) {
        /* The factors are computed in double precision and rounded once. m, v and the parameters are in
         * single precision, as in other frameworks. */
        const float beta1 = (float) scalars->beta1, rest1 = (float) (1.0 - scalars->beta1);
        const float beta2 = (float) scalars->beta2, rest2 = (float) (1.0 - scalars->beta2);
        const float scale = (float) scalars->gradient_scale, step = (float) scalars->step_size;
        const float inverse_root = (float) (1.0 / scalars->root_correction);
        const float epsilon = (float) scalars->epsilon;

        for (size_t i = 0; i < n; i++) {
                float g = gradient[i] * scale, large = KERNEL(unless_below)(g, ADAM_LEAST_SQUARED);

                m[i] = KERNEL(unless_below)(m[i] * beta1 + g * rest1, ADAM_LEAST_MOMENT);
                v[i] = KERNEL(unless_below)(v[i] * beta2 + large * large * rest2, ADAM_LEAST_MOMENT);
                parameters[i] -= step * m[i] / (sqrtf(v[i]) * inverse_root + epsilon);
        }
}

/* Computes a tile of c: rows i to i + m - 1, columns from j on, over n_k numbers from k on. m is a constant
 * where this is inlined. */
KERNEL_TARGET static inline __attribute__((always_inline)) void KERNEL(double_tile)(const DoubleProduct *p,
                uint32_t m, uint32_t i, uint32_t j, uint32_t k, uint32_t n_k, const BlockRow *block) {
        size_t bytes = (p->n - j < BLOCK_WIDTH ? p->n - j : BLOCK_WIDTH) * sizeof(double);
        const double *a = p->a + i * p->a_m + k * p->a_k;
        double *c = p->c + (size_t) i * p->n + j;
        BlockRow sums[BLOCK_ROWS] = {};

#pragma GCC unroll 4
        for (uint32_t r = 0; r < m; r++)
                if (p->accumulate || k > 0)
                        memcpy(&sums[r], c + (size_t) r * p->n, bytes);
        for (uint32_t l = 0; l < n_k; l++)
#pragma GCC unroll 4
                for (uint32_t r = 0; r < m; r++)
                        sums[r] += a[r * p->a_m + l * p->a_k] * block[l];
#pragma GCC unroll 4
        for (uint32_t r = 0; r < m; r++)
                memcpy(c + (size_t) r * p->n, &sums[r], bytes);
}

/* Copies a block of b, from row k and column j on. Columns beyond the last one of b become zeros. */
KERNEL_TARGET static inline __attribute__((always_inline)) void KERNEL(double_block)(
                const DoubleProduct *p, uint32_t j, uint32_t k, uint32_t n_k, double ret[][BLOCK_WIDTH]) {
        const double *b = p->b + k * p->b_k + j * p->b_n;

        for (uint32_t l = 0; l < n_k; l++)
                for (uint32_t w = 0; w < BLOCK_WIDTH; w++)
                        ret[l][w] = w < p->n - j ? b[l * p->b_k + w * p->b_n] : 0.0;
}

KERNEL_TARGET static void KERNEL(double_product)(const DoubleProduct *p) {
        double numbers[BLOCK_DEPTH][BLOCK_WIDTH];
        const BlockRow *block = (const BlockRow *) numbers;

        for (uint32_t j = 0; j < p->n; j += BLOCK_WIDTH)
                for (uint32_t k = 0, n_k; k < p->k; k += n_k) {
                        uint32_t i = 0;

                        n_k = p->k - k < BLOCK_DEPTH ? p->k - k : BLOCK_DEPTH;
                        KERNEL(double_block)(p, j, k, n_k, numbers);
                        for (; i + BLOCK_ROWS <= p->m; i += BLOCK_ROWS)
                                KERNEL(double_tile)(p, BLOCK_ROWS, i, j, k, n_k, block);
                        for (; i < p->m; i++)
                                KERNEL(double_tile)(p, 1, i, j, k, n_k, block);
                }
}

KERNEL_TARGET static void KERNEL(double_dots)(
                const double *a, uint32_t n_rows, size_t n, const double *x, double *ret) {
        for (uint32_t row = 0; row < n_rows; row++, a += n) {
                size_t i = 0;
                Group lanes = {};

                for (; i + KERNEL_GROUP <= n; i += KERNEL_GROUP)
                        lanes += *(const Group *) (a + i) * *(const Group *) (x + i);
                for (size_t l = 0; i < n; i++, l++)
                        lanes[l] += a[i] * x[i];
                ret[row] = 0.0;
                for (size_t l = 0; l < KERNEL_GROUP; l++)
                        ret[row] += lanes[l];
        }
}

KERNEL_TARGET static void KERNEL(double_take)(const double *restrict a, uint32_t n_rows, size_t n,
                const double *restrict x, double *restrict y) {
        for (size_t first = 0, end; first < n; first = end) {
                end = n - first < TAKE_BLOCK ? n : first + TAKE_BLOCK;
                for (uint32_t row = 0; row < n_rows; row++)
                        for (size_t i = first; i < end; i++)
                                y[i] -= x[row] * a[row * n + i];
        }
}

KERNEL_TARGET static void KERNEL(clear_group)(double *g, const double *x, size_t rows, size_t n) {
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

KERNEL_TARGET static void KERNEL(clear_row)(double *a, const double *x, size_t rows, size_t n) {
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

static const Kernels KERNEL(table) = {
#define X(type, name, parameters, arguments) .name = KERNEL(name),
        KERNELS(X)
#undef X
};
