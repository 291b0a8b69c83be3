/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kernels of lib/kernel.h, as a template for lib/each-width.h.
 *
 * The matrix product keeps a block of sums in registers: some rows of the result, some vectors wide. Each
 * sum runs over k in sequence, one fused multiply-add after the other, and the lanes of a vector are
 * separate sums. So the width decides how many sums are computed at once, but changes neither the terms of a
 * sum nor their order. The two factors stay as they are in memory. One is read number by number, and each
 * number is copied to all lanes of a vector; the other is read in rows of vectors. The file has no include
 * guard, on purpose. */

/* Vectors per tile, for CPUs with 32 or 16 vector registers. Tiles of one or two rows are wider, to hide the
 * latency of a multiplication. */
enum {
        KERNEL(SIDE) = KERNEL_WIDTH == 16 ? 4 : 2,
        KERNEL(SIDE_OF_2) = KERNEL_WIDTH == 16 ? 8 : 4,
        KERNEL(SIDE_OF_1) = 8,
};

/* Computes a tile of m rows by n vectors, summed over n_k numbers. m and n are constants wherever this is
 * inlined. The sums begin with the content of c, with the rows' bias, or with 0. */
KERNEL_TARGET static inline __attribute__((always_inline)) void KERNEL(tile)(const Product *p, uint32_t m,
                uint32_t n, const float *a, const float *b, uint32_t n_k, const float *bias, bool goes_on,
                float *c, size_t c_m) {
        KERNEL(Vector) sums[TILE_ROWS][SIDE_MAX], none = {};
        const size_t a_m = p->a_m, a_k = p->a_k, b_k = p->b_k;

#pragma GCC unroll 6
        for (uint32_t i = 0; i < m; i++)
#pragma GCC unroll 8
                for (uint32_t v = 0; v < n; v++)
                        if (goes_on)
                                sums[i][v] = *(const KERNEL(Loose) *) (c + i * c_m + v * KERNEL_WIDTH);
                        else
                                sums[i][v] = bias ? bias[i] - none : none;

        for (uint32_t k = 0; k < n_k; k++, a += a_k, b += b_k) {
                KERNEL(Vector) row[SIDE_MAX];

#pragma GCC unroll 8
                for (uint32_t v = 0; v < n; v++)
                        row[v] = *(const KERNEL(Loose) *) (b + v * KERNEL_WIDTH);
#pragma GCC unroll 6
                for (uint32_t i = 0; i < m; i++)
#pragma GCC unroll 8
                        for (uint32_t v = 0; v < n; v++)
                                sums[i][v] = KERNEL_FUSED(a[i * a_m] - none, row[v], sums[i][v]);
        }

#pragma GCC unroll 6
        for (uint32_t i = 0; i < m; i++)
#pragma GCC unroll 8
                for (uint32_t v = 0; v < n; v++)
                        *(KERNEL(Loose) *) (c + i * c_m + v * KERNEL_WIDTH) = sums[i][v];
}

/* Computes the last columns, which do not fill a vector. The numbers of b beyond these columns are read and
 * ignored. */
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

/* Computes m whole rows from row i on, over n_k numbers from k on, `side` vectors at a time. */
KERNEL_TARGET static inline __attribute__((always_inline)) void KERNEL(strip)(
                const Product *p, uint32_t m, uint32_t side, uint32_t i, uint32_t k, uint32_t n_k) {
        const float *a = p->a + i * p->a_m + k * p->a_k, *b = p->b + k * p->b_k;
        const float *bias = p->bias ? p->bias + i : NULL;
        bool goes_on = p->goes_on || k > 0;
        float *c = p->c + i * p->c_m;
        uint32_t j = 0;

        for (; side == 8 && j + 8 * KERNEL_WIDTH <= p->n; j += 8 * KERNEL_WIDTH)
                KERNEL(tile)(p, m, 8, a, b + j, n_k, bias, goes_on, c + j, p->c_m);
        for (; side >= 4 && j + 4 * KERNEL_WIDTH <= p->n; j += 4 * KERNEL_WIDTH)
                KERNEL(tile)(p, m, 4, a, b + j, n_k, bias, goes_on, c + j, p->c_m);
        for (; j + 2 * KERNEL_WIDTH <= p->n; j += 2 * KERNEL_WIDTH)
                KERNEL(tile)(p, m, 2, a, b + j, n_k, bias, goes_on, c + j, p->c_m);
        for (; j + KERNEL_WIDTH <= p->n; j += KERNEL_WIDTH)
                KERNEL(tile)(p, m, 1, a, b + j, n_k, bias, goes_on, c + j, p->c_m);
        if (j < p->n)
                KERNEL(tile_rest)(p, m, p->n - j, a, b + j, n_k, bias, goes_on, c + j);
}

/* Computes the product in slices of k, so that the rows of b of a slice stay in the cache. */
KERNEL_TARGET static void KERNEL(product)(const Product *p) {
        for (uint32_t k = 0, n_k; k < p->k; k += n_k) {
                uint32_t i = 0;

                n_k = p->k - k < TILE_DEPTH ? p->k - k : TILE_DEPTH;
                for (; i + TILE_ROWS <= p->m; i += TILE_ROWS)
                        KERNEL(strip)(p, TILE_ROWS, KERNEL(SIDE), i, k, n_k);
                switch (p->m - i) {
                case 1: KERNEL(strip)(p, 1, KERNEL(SIDE_OF_1), i, k, n_k); break;
                case 2: KERNEL(strip)(p, 2, KERNEL(SIDE_OF_2), i, k, n_k); break;
                case 3: KERNEL(strip)(p, 3, KERNEL(SIDE), i, k, n_k); break;
                case 4: KERNEL(strip)(p, 4, KERNEL(SIDE), i, k, n_k); break;
                case 5: KERNEL(strip)(p, 5, KERNEL(SIDE), i, k, n_k); break;
                }
        }
}

/* Transposes a square with as many rows as a vector has numbers. Each row of each round takes one
 * instruction: the numbers of two rows with even places, or those with odd places. Two rounds transpose
 * squares of four by four numbers. Further rounds move whole fours in the same way. */
KERNEL_TARGET static inline __attribute__((always_inline)) void KERNEL(turn)(
                KERNEL(Vector) a[KERNEL_WIDTH]) {
        KERNEL(Vector) b[KERNEL_WIDTH];

#pragma GCC unroll 4
        for (unsigned first = 0; first < KERNEL_WIDTH; first += 4) {
                KERNEL(Vector) *x = a + first, *y = b + first;

                y[0] = KERNEL_EVEN(x[0], x[1]);
                y[1] = KERNEL_EVEN(x[2], x[3]);
                y[2] = KERNEL_ODD(x[0], x[1]);
                y[3] = KERNEL_ODD(x[2], x[3]);
                x[0] = KERNEL_EVEN(y[0], y[1]);
                x[1] = KERNEL_EVEN(y[2], y[3]);
                x[2] = KERNEL_ODD(y[0], y[1]);
                x[3] = KERNEL_ODD(y[2], y[3]);
        }
#if KERNEL_WIDTH > 4
        for (unsigned fours = 1; fours < KERNEL_WIDTH / 4; fours *= 2) {
#pragma GCC unroll 8
                for (unsigned i = 0; i < KERNEL_WIDTH / 2; i++) {
                        unsigned from = i / 4 * 8 + i % 4;

                        b[i] = KERNEL_EVEN_FOURS(a[from], a[from + 4]);
                        b[i + KERNEL_WIDTH / 2] = KERNEL_ODD_FOURS(a[from], a[from + 4]);
                }
#pragma GCC unroll 16
                for (unsigned i = 0; i < KERNEL_WIDTH; i++)
                        a[i] = b[i];
        }
#endif
}

/* Transposes n rows, as many as a vector has numbers or fewer; rows that are missing count as zeros. n is a
 * constant where all rows are there. */
KERNEL_TARGET static inline __attribute__((always_inline)) void KERNEL(band)(const float *restrict x,
                uint32_t n, uint32_t stride, float *restrict ret, size_t ret_stride) {
        for (uint32_t r = 0; r < stride; r += KERNEL_WIDTH) {
                KERNEL(Vector) a[KERNEL_WIDTH] = {};

#pragma GCC unroll 16
                for (unsigned i = 0; i < KERNEL_WIDTH; i++)
                        if (i < n)
                                a[i] = *(const KERNEL(Loose) *) (x + (size_t) i * stride + r);
                KERNEL(turn)(a);
#pragma GCC unroll 16
                for (unsigned i = 0; i < KERNEL_WIDTH; i++)
                        *(KERNEL(Loose) *) (ret + (r + i) * ret_stride) = a[i];
        }
}

KERNEL_TARGET static void KERNEL(transpose)(
                const float *restrict x, uint32_t n, uint32_t stride, float *restrict ret) {
        const uint32_t ret_stride = kernel_padded(n);
        uint32_t u = 0;

        for (; u + KERNEL_WIDTH <= n; u += KERNEL_WIDTH)
                KERNEL(band)(x + (size_t) u * stride, KERNEL_WIDTH, stride, ret + u, ret_stride);
        for (; u < ret_stride; u += KERNEL_WIDTH) {
                uint32_t n_left = u < n ? n - u : 0;

                KERNEL(band)(x + (size_t) (n - n_left) * stride, n_left, stride, ret + u, ret_stride);
        }
}

/* elementary_tanh() with the same operations in the same order; tests compare the two bit for bit. Compilers
 * turn the two comparisons that clamp x into branches, and then do not vectorise the loop. So vectors are
 * written out here. */
KERNEL_TARGET static inline __attribute__((always_inline)) void KERNEL(tanh)(float *x, size_t n) {
        const KERNEL(Vector) none = {}, one = none + 1.0f;

        for (size_t i = 0; i < n; i += KERNEL_WIDTH) {
                KERNEL(Vector) v = *(const KERNEL(Loose) *) (x + i), u, p, q;

                v = KERNEL_HOLD(v, none + 9.02f);
                u = v * v;
                p = KERNEL_FUSED(none + 1.3317613105259e-08f, u, none + 2.0582436746910e-05f);
                p = KERNEL_FUSED(p, u, none + 3.4939723676539e-03f);
                p = KERNEL_FUSED(p, u, none + 1.3379666368905e-01f);
                p = KERNEL_FUSED(p, u, one);
                q = KERNEL_FUSED(none + 7.7614234280697e-07f, u, none + 3.2829900190218e-04f);
                q = KERNEL_FUSED(q, u, none + 2.5870838825164e-02f);
                q = KERNEL_FUSED(q, u, none + 4.6712981684973e-01f);
                q = KERNEL_FUSED(q, u, one);
                *(KERNEL(Loose) *) (x + i) = KERNEL_HOLD(v * p / q, one);
        }
}

KERNEL_TARGET static void KERNEL(activate)(float *y, size_t n, uint32_t activation) {
        switch ((LayerActivation) activation) {
        case LAYER_NONE: break;
        case LAYER_TANH: KERNEL(tanh)(y, n); break;
        case LAYER_RELU:
                for (size_t i = 0; i < n; i++)
                        y[i] = y[i] < 0.0f ? 0.0f : y[i];
                break;
        case LAYER_SILU:
                for (size_t i = 0; i < n; i++)
                        y[i] = elementary_silu(y[i]);
                break;
        case LAYER_MISH:
                for (size_t i = 0; i < n; i++)
                        y[i] = elementary_mish(y[i]);
                break;
        }
}

static const Kernels KERNEL(table) = { KERNEL(product), KERNEL(transpose), KERNEL(activate) };
