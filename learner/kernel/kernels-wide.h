/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kernels of kernels.h, as a template for lib/each-width.h.
 *
 * The matrix product keeps a block of sums in registers: some rows of what is written, some vectors wide.
 * Each sum runs over k in sequence, one fused multiply-add after the other; the lanes of a vector are sums
 * of their own. So a width decides how many sums there are at once, never what is added to one, nor in
 * which order. Nothing is copied into another order first: one factor is read number by number, where it
 * lies, and spread over a vector, the other in rows of vectors.
 *
 * Everything else is loops without branches that a compiler makes vectors of, or 16 sums side by side,
 * added as a tree. No include guard, on purpose. */

enum {
        KERNEL(SIDE) = KERNEL_WIDTH == 16 ? 4 : 2, /* vectors side by side: of 32 registers, or 16 */
        KERNEL(PARTS) = KERNEL_LANES / KERNEL_WIDTH,
};

/* m rows of n vectors, which are constants where this is inlined, over n_k numbers. The sums begin with
 * what c has, with the rows' bias, or with 0. */
KERNEL_TARGET static inline __attribute__((always_inline)) void KERNEL(tile)(const Product *p, uint32_t m,
                uint32_t n, const float *a, const float *b, uint32_t n_k, const float *bias, bool goes_on,
                float *c, size_t c_m) {
        KERNEL(Vector) sums[TILE_ROWS][KERNEL(SIDE)], none = {};
        const size_t a_m = p->a_m, a_k = p->a_k, b_k = p->b_k;

#pragma GCC unroll 6
        for (uint32_t i = 0; i < m; i++)
#pragma GCC unroll 4
                for (uint32_t v = 0; v < n; v++)
                        if (goes_on)
                                sums[i][v] = *(const KERNEL(Loose) *) (c + i * c_m + v * KERNEL_WIDTH);
                        else
                                sums[i][v] = bias ? bias[i] - none : none;

        for (uint32_t k = 0; k < n_k; k++, a += a_k, b += b_k) {
                KERNEL(Vector) row[KERNEL(SIDE)];

#pragma GCC unroll 4
                for (uint32_t v = 0; v < n; v++)
                        row[v] = *(const KERNEL(Loose) *) (b + v * KERNEL_WIDTH);
#pragma GCC unroll 6
                for (uint32_t i = 0; i < m; i++)
#pragma GCC unroll 4
                        for (uint32_t v = 0; v < n; v++)
                                sums[i][v] = KERNEL_FUSED(a[i * a_m] - none, row[v], sums[i][v]);
        }

#pragma GCC unroll 6
        for (uint32_t i = 0; i < m; i++)
#pragma GCC unroll 4
                for (uint32_t v = 0; v < n; v++)
                        *(KERNEL(Loose) *) (c + i * c_m + v * KERNEL_WIDTH) = sums[i][v];
}

/* The columns that fill no vector. What b has beyond them is read, and dropped. */
KERNEL_TARGET static inline __attribute__((always_inline)) void KERNEL(tile_rest)(const Product *p,
                uint32_t m, uint32_t n_rest, const float *a, const float *b, uint32_t n_k, const float *bias,
                bool goes_on, float *c) {
        float part[TILE_ROWS][KERNEL_WIDTH] = {};

        for (uint32_t i = 0; goes_on && i < m; i++)
                memcpy(part[i], c + i * p->c_m, n_rest * sizeof(float));
        KERNEL(tile)(p, m, 1, a, b, n_k, bias, goes_on, part[0], KERNEL_WIDTH);
        for (uint32_t i = 0; i < m; i++)
                memcpy(c + i * p->c_m, part[i], n_rest * sizeof(float));
}

/* m rows from row i on, whole: over n_k numbers from k on. */
KERNEL_TARGET static inline __attribute__((always_inline)) void KERNEL(strip)(
                const Product *p, uint32_t m, uint32_t i, uint32_t k, uint32_t n_k) {
        const float *a = p->a + i * p->a_m + k * p->a_k, *b = p->b + k * p->b_k;
        const float *bias = p->bias ? p->bias + i : NULL;
        const uint32_t wide = KERNEL(SIDE) * KERNEL_WIDTH;
        bool goes_on = p->goes_on || k > 0;
        float *c = p->c + i * p->c_m;
        uint32_t j = 0;

        for (; j + wide <= p->n; j += wide)
                KERNEL(tile)(p, m, KERNEL(SIDE), a, b + j, n_k, bias, goes_on, c + j, p->c_m);
        for (; j + 2 * KERNEL_WIDTH <= p->n; j += 2 * KERNEL_WIDTH)
                KERNEL(tile)(p, m, 2, a, b + j, n_k, bias, goes_on, c + j, p->c_m);
        for (; j + KERNEL_WIDTH <= p->n; j += KERNEL_WIDTH)
                KERNEL(tile)(p, m, 1, a, b + j, n_k, bias, goes_on, c + j, p->c_m);
        if (j < p->n)
                KERNEL(tile_rest)(p, m, p->n - j, a, b + j, n_k, bias, goes_on, c + j);
}

/* Some numbers of k at a time, so that the rows of b that go with them stay near. */
KERNEL_TARGET static void KERNEL(product)(const Product *p) {
        for (uint32_t k = 0, n_k; k < p->k; k += n_k) {
                uint32_t i = 0;

                n_k = p->k - k < TILE_DEPTH ? p->k - k : TILE_DEPTH;
                for (; i + TILE_ROWS <= p->m; i += TILE_ROWS)
                        KERNEL(strip)(p, TILE_ROWS, i, k, n_k);
                switch (p->m - i) {
                case 1: KERNEL(strip)(p, 1, i, k, n_k); break;
                case 2: KERNEL(strip)(p, 2, i, k, n_k); break;
                case 3: KERNEL(strip)(p, 3, i, k, n_k); break;
                case 4: KERNEL(strip)(p, 4, i, k, n_k); break;
                case 5: KERNEL(strip)(p, 5, i, k, n_k); break;
                }
        }
}

/* A square of as many rows as a vector has numbers: interleaving row i with the row half of them further
 * down, once for each doubling, turns it around. */
KERNEL_TARGET static inline __attribute__((always_inline)) void KERNEL(turn)(
                KERNEL(Vector) a[KERNEL_WIDTH]) {
        KERNEL(Vector) b[KERNEL_WIDTH];

#pragma GCC unroll 4
        for (unsigned stage = 1; stage < KERNEL_WIDTH; stage *= 2) {
#pragma GCC unroll 8
                for (unsigned i = 0; i < KERNEL_WIDTH / 2; i++) {
                        b[2 * i] = KERNEL_LOW(a[i], a[i + KERNEL_WIDTH / 2]);
                        b[2 * i + 1] = KERNEL_HIGH(a[i], a[i + KERNEL_WIDTH / 2]);
                }
#pragma GCC unroll 16
                for (unsigned i = 0; i < KERNEL_WIDTH; i++)
                        a[i] = b[i];
        }
}

KERNEL_TARGET static void KERNEL(transpose)(
                const float *restrict x, uint32_t n, uint32_t stride, float *restrict ret) {
        const uint32_t ret_stride = (n + KERNEL_LANES - 1) / KERNEL_LANES * KERNEL_LANES;

        for (uint32_t u = 0; u < ret_stride; u += KERNEL_WIDTH)
                for (uint32_t r = 0; r < stride; r += KERNEL_WIDTH) {
                        KERNEL(Vector) a[KERNEL_WIDTH], none = {};

#pragma GCC unroll 16
                        for (unsigned i = 0; i < KERNEL_WIDTH; i++)
                                if (u + i < n)
                                        a[i] = *(const KERNEL(Loose) *) (x + (size_t) (u + i) * stride + r);
                                else
                                        a[i] = none;
                        KERNEL(turn)(a);
#pragma GCC unroll 16
                        for (unsigned i = 0; i < KERNEL_WIDTH; i++)
                                *(KERNEL(Loose) *) (ret + (size_t) (r + i) * ret_stride + u) = a[i];
                }
}

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

KERNEL_TARGET static void KERNEL(activate)(float *y, size_t n, uint32_t activation) {
        switch ((LayerActivation) activation) {
        case LAYER_NONE: break;
        case LAYER_TANH: KERNEL(tanh)(y, n); break;
        case LAYER_RELU:
                for (size_t i = 0; i < n; i++)
                        y[i] = y[i] < 0.0f ? 0.0f : y[i];
                break;
        }
}

KERNEL_TARGET static void KERNEL(bias_activate)(float *restrict y, const float *restrict bias, uint32_t n,
                uint32_t stride, uint32_t activation) {
        for (uint32_t u = 0; u < n; u++)
                for (uint32_t r = 0; r < stride; r++)
                        y[(size_t) u * stride + r] += bias[u];
        KERNEL(activate)(y, (size_t) n * stride, activation);
}

/* One unit's; activation is a constant where this is inlined. */
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
                        *(KERNEL(Loose) *) (dy + at) = d;
                        sums[part] += d;
                }
        return lanes_sum((const float *) sums);
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

KERNEL_TARGET static double KERNEL(square_sum)(const float *x, size_t n) {
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

KERNEL_TARGET static void KERNEL(adam)(float *restrict parameters, float *restrict m, float *restrict v,
                const float *restrict gradient, size_t n, const AdamScalars *scalars) {
        /* Corrections are computed in double precision and rounded once; the sums are single, as the
         * frameworks' are. */
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

KERNEL_TARGET static void KERNEL(exp)(float *x, size_t n) {
        for (size_t i = 0; i < n; i++)
                x[i] = elementary_exp(x[i]);
}

KERNEL_TARGET static void KERNEL(log)(float *x, size_t n) {
        for (size_t i = 0; i < n; i++)
                x[i] = elementary_log(x[i]);
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
