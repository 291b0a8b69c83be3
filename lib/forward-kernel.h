/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One dense layer for some rows, as a template for lib/each-width.h.
 *
 * A dot product has 16 partial sums, number i % 16 taking the i-th product, and they are added as a tree:
 * lane k to lane k + 8, then k + 4, k + 2, k + 1. A vector of 16 does that in one piece, two of 8 in two
 * pieces: the additions, their order and hence the bits are the same. Each row is summed by itself; what
 * rows share is only that the weights of four outputs are near while all of them use them. No include
 * guard, on purpose. */

typedef int32_t KERNEL(LooseMask) __attribute__((vector_size(4 * KERNEL_WIDTH), aligned(4), may_alias));

enum {
        KERNEL(PARTS) = LANES / KERNEL_WIDTH,
        KERNEL(ROWS) = KERNEL_WIDTH == 16 ? 4 : 2, /* side by side: 32 registers, or 16 */
};

/* The tree, for four outputs side by side. */
KERNEL_TARGET static inline void KERNEL(reduce)(const KERNEL(Vector) sums[4][KERNEL(PARTS)], float *ret) {
        Quad q[4], low, high;

        for (int o = 0; o < 4; o++) {
                const KERNEL(Vector) *s = sums[o];
#if KERNEL_WIDTH == 16
                Oct t = __builtin_shufflevector(s[0], s[0], 0, 1, 2, 3, 4, 5, 6, 7) +
                        __builtin_shufflevector(s[0], s[0], 8, 9, 10, 11, 12, 13, 14, 15);
                q[o] = __builtin_shufflevector(t, t, 0, 1, 2, 3) + __builtin_shufflevector(t, t, 4, 5, 6, 7);
#elif KERNEL_WIDTH == 8
                Oct t = s[0] + s[1];
                q[o] = __builtin_shufflevector(t, t, 0, 1, 2, 3) + __builtin_shufflevector(t, t, 4, 5, 6, 7);
#else
                q[o] = (s[0] + s[2]) + (s[1] + s[3]);
#endif
        }

        /* [a0 + a2, a1 + a3, b0 + b2, b1 + b3], then even and odd lanes. */
        low = __builtin_shufflevector(q[0], q[1], 0, 1, 4, 5) +
              __builtin_shufflevector(q[0], q[1], 2, 3, 6, 7);
        high = __builtin_shufflevector(q[2], q[3], 0, 1, 4, 5) +
               __builtin_shufflevector(q[2], q[3], 2, 3, 6, 7);
        *(LooseQuad *) ret = __builtin_shufflevector(low, high, 0, 2, 4, 6) +
                             __builtin_shufflevector(low, high, 1, 3, 5, 7);
}

/* Four outputs of n rows, from the rows of w that belong to them; n is a constant where this is inlined.
 * One part of the sums at a time: all of its lanes, of all rows, stay in registers, and what is read of w
 * serves every row. */
KERNEL_TARGET static inline __attribute__((always_inline)) void KERNEL(tile)(const float *const rows[4],
                const float *x, size_t n, size_t n_in, float *ret, size_t ret_stride) {
        size_t whole = n_in / LANES * LANES, tail = n_in % LANES,
               x_stride = (n_in + LANES - 1) / LANES * LANES;
        KERNEL(Vector) sums[KERNEL(ROWS)][4][KERNEL(PARTS)];

        for (size_t p = 0; p < KERNEL(PARTS); p++) {
                KERNEL(Vector) part[KERNEL(ROWS)][4] = {};

                for (size_t i = p * KERNEL_WIDTH; i < whole; i += LANES) {
                        KERNEL(Vector) w[4];

#pragma GCC unroll 4
                        for (size_t k = 0; k < 4; k++)
                                w[k] = *(const KERNEL(Loose) *) (rows[k] + i);
#pragma GCC unroll 4
                        for (size_t r = 0; r < n; r++) {
                                KERNEL(Vector) v = *(const KERNEL(Loose) *) (x + r * x_stride + i);
#pragma GCC unroll 4
                                for (size_t k = 0; k < 4; k++)
                                        part[r][k] += w[k] * v;
                        }
                }

                if (tail > 0) {
                        size_t at = whole + p * KERNEL_WIDTH;
                        KERNEL(Mask)
                        mask = *(const KERNEL(LooseMask) *) (tail_mask + LANES - tail + p * KERNEL_WIDTH);
#pragma GCC unroll 4
                        for (size_t k = 0; k < 4; k++) {
                                KERNEL(Mask) bits = *(const KERNEL(LooseMask) *) (rows[k] + at);
#pragma GCC unroll 4
                                for (size_t r = 0; r < n; r++)
                                        part[r][k] += (KERNEL(Vector))(bits & mask) *
                                                      *(const KERNEL(Loose) *) (x + r * x_stride + at);
                        }
                }

#pragma GCC unroll 4
                for (size_t r = 0; r < n; r++)
#pragma GCC unroll 4
                        for (size_t k = 0; k < 4; k++)
                                sums[r][k][p] = part[r][k];
        }

        for (size_t r = 0; r < n; r++)
                KERNEL(reduce)(sums[r], ret + r * ret_stride);
}

/* y[r][n_out] = w[n_out][n_in] x[r] + bias. Each x is padded with zeros, each y is left padded with
 * zeros, both to a multiple of LANES, which is how far a row lies from the next. Up to LANES - 1 numbers
 * beyond w are read, and masked. */
KERNEL_TARGET static void KERNEL(dense)(const float *w, const float *bias, const float *x, size_t n_rows,
                size_t n_in, size_t n_out, float *y) {
        const size_t x_stride = (n_in + LANES - 1) / LANES * LANES;
        const size_t y_stride = (n_out + LANES - 1) / LANES * LANES, many = KERNEL(ROWS);

        for (size_t o = 0; o < n_out; o += 4) {
                const float *rows[4];
                size_t r = 0;

                /* Rows beyond the last one repeat the last one; their results are dropped below. */
                for (size_t k = 0; k < 4; k++)
                        rows[k] = w + (o + k < n_out ? o + k : n_out - 1) * n_in;
                for (; r + many <= n_rows; r += many)
                        KERNEL(tile)(rows, x + r * x_stride, many, n_in, y + r * y_stride + o, y_stride);
                for (; r < n_rows; r++)
                        KERNEL(tile)(rows, x + r * x_stride, 1, n_in, y + r * y_stride + o, y_stride);
        }

        for (size_t r = 0; r < n_rows; r++) {
                for (size_t o = 0; o < n_out; o++)
                        y[r * y_stride + o] += bias[o];
                for (size_t o = n_out; o % LANES != 0; o++)
                        y[r * y_stride + o] = 0;
        }
}

KERNEL_TARGET static void KERNEL(tanh_row)(float *x, size_t n) {
        size_t whole = n / KERNEL_WIDTH * KERNEL_WIDTH;

        KERNEL(tanh)(x, whole);
        for (size_t i = whole; i < n; i++)
                x[i] = elementary_tanh(x[i]);
}
