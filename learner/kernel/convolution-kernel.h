/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The two loops in which convolutions spend their time, as a template for lib/each-width.h.
 *
 * Both keep a block of sums in registers and read the factors in place, without a copy. The width decides
 * how many sums are computed at once, but neither the terms of a sum nor their order: the bits are the same.
 * The file has no include guard, on purpose. */

/* Sizes of blocks, for CPUs with 32 vector registers or with 16. */
enum {
        KERNEL(UNITS) = KERNEL_WIDTH == 16 ? 8 : 4, /* units that are computed at once */
        /* the number of inputs that weights_rows() reads at once. Its registers hold SIDE * READS sums, one
         * for each pair of a unit and an input */
        KERNEL(READS) = KERNEL_WIDTH == 16 ? 4 : 2,
};

/* Computes adjacent output units at one place of the image, for n vectors of rows. n is a constant where
 * this is inlined. */
KERNEL_TARGET static inline __attribute__((always_inline)) void KERNEL(place_vectors)(const Sum *s,
                const float *from, const float *weight, uint32_t n, bool accumulate, float *to) {
        KERNEL(Vector) sums[KERNEL(UNITS)][2] = {}, none = {};

        for (uint32_t a = 0; a < s->n[0]; a++)
                for (uint32_t b = 0; b < s->n[1]; b++) {
                        const float *x = from + a * s->from_step[0] + b * s->from_step[1];
                        const float *w = weight + a * s->weight_step[0] + b * s->weight_step[1];

                        for (uint32_t i = 0; i < s->n[2]; i++, x += s->from_step[2], w += s->weight_step[2])
#pragma GCC unroll 2
                                for (uint32_t v = 0; v < n; v++) {
                                        KERNEL(Vector)
                                        lanes = *(const KERNEL(Loose) *) (x + v * KERNEL_WIDTH);
#pragma GCC unroll 8
                                        for (uint32_t u = 0; u < KERNEL(UNITS); u++)
                                                sums[u][v] = KERNEL_FUSED(lanes, w[u] - none, sums[u][v]);
                                }
                }

#pragma GCC unroll 8
        for (uint32_t u = 0; u < KERNEL(UNITS); u++)
#pragma GCC unroll 2
                for (uint32_t v = 0; v < n; v++) {
                        KERNEL(Loose) *at = (KERNEL(Loose) *) (to + u * s->to_step + v * KERNEL_WIDTH);

                        if (accumulate && u < s->n_units)
                                sums[u][v] += *at;
                        if (u < s->n_units)
                                *at = sums[u][v];
                }
}

KERNEL_TARGET static void KERNEL(place)(const Sum *s, const float *from, const float *weight, uint32_t rows,
                bool accumulate, float *to) {
        uint32_t r = 0;

        for (; r + 2 * KERNEL_WIDTH <= rows; r += 2 * KERNEL_WIDTH)
                KERNEL(place_vectors)(s, from + r, weight, 2, accumulate, to + r);
        for (; r < rows; r += KERNEL_WIDTH)
                KERNEL(place_vectors)(s, from + r, weight, 1, accumulate, to + r);
}

/* Computes the gradients of a block of weights: sums over n_squares squares of the image (convolution.c),
 * and over the rows of each square. If a vector has fewer numbers than LANES, each pass computes a part of
 * the lanes. Some callers pass `rows` as a constant, which makes the code faster. */
KERNEL_TARGET static inline __attribute__((always_inline)) void KERNEL(weights_rows)(
                const float *const dy[SIDE], const float *const (*reads)[SIDE], uint32_t n_squares,
                uint32_t rows, float ret[SIDE][SIDE]) {
        float lanes[SIDE][SIDE][LANES];

        for (uint32_t first = 0; first < SIDE; first += KERNEL(READS))
                for (uint32_t part = 0; part < LANES; part += KERNEL_WIDTH) {
                        KERNEL(Vector) sums[SIDE][KERNEL(READS)] = {};

                        for (size_t q = 0; q < n_squares; q++)
#pragma GCC unroll 4
                                for (size_t r = part; r < rows; r += LANES) {
                                        KERNEL(Vector) d[SIDE], read;

#pragma GCC unroll 4
                                        for (uint32_t u = 0; u < SIDE; u++)
                                                d[u] = *(const KERNEL(Loose) *) (dy[u] + q * rows + r);
#pragma GCC unroll 4
                                        for (uint32_t k = 0; k < KERNEL(READS); k++) {
                                                read = *(const KERNEL(Loose) *) (reads[q][first + k] + r);
#pragma GCC unroll 4
                                                for (uint32_t u = 0; u < SIDE; u++)
                                                        sums[u][k] = KERNEL_FUSED(d[u], read, sums[u][k]);
                                        }
                                }
#pragma GCC unroll 4
                        for (uint32_t u = 0; u < SIDE; u++)
#pragma GCC unroll 4
                                for (uint32_t k = 0; k < KERNEL(READS); k++)
                                        *(KERNEL(Loose) *) (lanes[u][first + k] + part) = sums[u][k];
                }

        for (uint32_t u = 0; u < SIDE; u++)
                lanes_sum(lanes[u], ret[u]);
}

KERNEL_TARGET static void KERNEL(weights)(const float *const dy[SIDE], const float *const (*reads)[SIDE],
                uint32_t n_squares, uint32_t rows, float ret[SIDE][SIDE]) {
        if (rows == SHARD_ROWS_MAX)
                KERNEL(weights_rows)(dy, reads, n_squares, SHARD_ROWS_MAX, ret);
        else
                KERNEL(weights_rows)(dy, reads, n_squares, rows, ret);
}

static const Kernels KERNEL(table) = { KERNEL(UNITS), KERNEL(place), KERNEL(weights) };
