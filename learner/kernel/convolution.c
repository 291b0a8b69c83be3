/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Convolutions that read factors in place. The numbers of one place in an image are adjacent, one for each
 * row of the shard. So vectors run over rows, for any kernel, stride and padding. With few units a matrix
 * product does not pay. It would need copies of the squares in a matrix, and of the matrix's blocks in a
 * library's order, and this copying costs half as much as multiplying.
 *
 * In the forward pass and in the gradient of the input, each number is one sum. Sums of several units (or
 * channels) with the same input are computed together: the input is loaded once, and each weight is
 * broadcast to a vector. The weights are copied first, so that they are adjacent. The gradient of weights
 * has a sum for each of 4 units and 4 inputs. With vectors of 16 numbers, 8 loads serve 16 products.
 *
 * The layer's shape alone fixes the order of a sum. In the forward pass, a sum goes over channels, then over
 * rows and columns of the kernel. For an input, it goes over the squares that contain the input, bottom to
 * top, right to left, and over the units of each. For a weight, it goes over the shard's rows of 16 squares,
 * in 16 lanes that are added in a tree, and then over groups of squares. Every product is fused with its
 * addition. Neither the width of vectors nor the number of threads changes a result. */
#include "learner/kernel/convolution.h"

#include <assert.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "learner/kernel/kernels.h"
#include "lib/elementary.h"
#include "lib/width.h"

enum {
        LANES = KERNEL_LANES,
        SIDE = 4, /* units, and inputs, in a block of weights */
        /* Sums go over this many squares (output positions) at a time, so that the inputs stay in a core's
         * cache. */
        SQUARES = 16,
        UNITS_ALIGN = 8, /* the most units that are computed at once */
};

/* Computes n_units sums at once. The terms of a sum are an input times a weight, over three nested indices.
 * An input is a vector with an entry for each row, and all sums read the same inputs. The sums' weights for
 * one input are adjacent; their results are to_step apart. Steps are in floats. */
typedef struct Sum {
        uint32_t n[3], n_units;
        ptrdiff_t from_step[3], weight_step[3];
        size_t to_step;
} Sum;

typedef struct Kernels {
        uint32_t n_units;
        void (*place)(const Sum *s, const float *from, const float *weight, uint32_t rows, bool accumulate,
                        float *to);
        void (*weights)(const float *const dy[SIDE], const float *const (*reads)[SIDE], uint32_t n_squares,
                        uint32_t rows, float ret[SIDE][SIDE]);
} Kernels;

static const float zeros[SHARD_ROWS_MAX];

/* Adds up the lanes of SIDE rows at once: lane k and lane k + 8, then k + 4, k + 2, k + 1. */
static inline void lanes_sum(const float lanes[SIDE][LANES], float *ret) {
        Quad q[SIDE], low, high;

        for (unsigned k = 0; k < SIDE; k++) {
                const LooseQuad *l = (const LooseQuad *) lanes[k];

                q[k] = (l[0] + l[2]) + (l[1] + l[3]);
        }
        low = __builtin_shufflevector(q[0], q[1], 0, 1, 4, 5) +
              __builtin_shufflevector(q[0], q[1], 2, 3, 6, 7);
        high = __builtin_shufflevector(q[2], q[3], 0, 1, 4, 5) +
               __builtin_shufflevector(q[2], q[3], 2, 3, 6, 7);
        *(LooseQuad *) ret = __builtin_shufflevector(low, high, 0, 2, 4, 6) +
                             __builtin_shufflevector(low, high, 1, 3, 5, 7);
}

#define KERNEL_TEMPLATE "learner/kernel/convolution-kernel.h"
#include "lib/each-width.h"

static uint32_t padded(uint32_t n) {
        return (n + UNITS_ALIGN - 1) / UNITS_ALIGN * UNITS_ALIGN;
}

static uint32_t least(uint32_t a, uint32_t b) {
        return a < b ? a : b;
}

size_t convolution_scratch(const Layer *layer) {
        const Convolution *c = &layer->convolution;
        size_t forward = (size_t) layer->n_reads * padded(layer->n_units);
        size_t input = (size_t) c->kernel * c->kernel * layer->n_units * padded(c->channels);

        return forward > input ? forward : input;
}

/* For output `at` along one axis: how many elements of the kernel are inside the image, which has `size`
 * elements. *ret_first: the first such element. */
static uint32_t hits_forward(const Convolution *c, uint32_t at, uint32_t size, uint32_t *ret_first) {
        uint32_t start = at * c->stride;

        *ret_first = start < c->padding ? c->padding - start : 0;
        return least(c->kernel, size + c->padding - start) - *ret_first;
}

/* For number `at` of the image along one axis: how many elements of the kernel cover it. They are `stride`
 * apart, and each belongs to another output. *ret_first: the first such element, which belongs to output
 * *ret_output. */
static uint32_t hits_backward(const Convolution *c, uint32_t at, uint32_t out_size, uint32_t *ret_first,
                uint32_t *ret_output) {
        uint32_t end = at + c->padding, last = least(end / c->stride, out_size - 1);
        uint32_t first = end - last * c->stride;

        *ret_first = first;
        *ret_output = last;
        return first < c->kernel ? least((c->kernel - 1 - first) / c->stride, last) + 1 : 0;
}

void convolution_forward(const Layer *layer, const float *weight, const float *x, uint32_t rows,
                float *scratch, float *y) {
        const Convolution *c = &layer->convolution;
        const Kernels *kernels = kernels_chosen();
        uint32_t step = padded(layer->n_units), ky, kx;
        size_t squares = (size_t) c->out_height * c->out_width;
        Sum s = {
                .n = { c->channels },
                .from_step = { (size_t) c->channel_step * rows, (size_t) c->row_step * rows,
                                (size_t) c->column_step * rows },
                .weight_step = { (size_t) c->kernel * c->kernel * step, (size_t) c->kernel * step, step },
                .to_step = squares * rows,
        };

        /* the layout of `scratch`: [channels][kernel][kernel][units] */
        for (uint32_t k = 0; k < layer->n_reads; k++)
                for (uint32_t u = 0; u < step; u++)
                        scratch[(size_t) k * step + u] =
                                        u < layer->n_units ? weight[(size_t) u * layer->n_reads + k] : 0;

        for (uint32_t oy = 0; oy < c->out_height; oy++)
                for (uint32_t u = 0; u < layer->n_units; u += kernels->n_units)
                        for (uint32_t ox = 0; ox < c->out_width; ox++) {
                                s.n[1] = hits_forward(c, oy, c->height, &ky);
                                s.n[2] = hits_forward(c, ox, c->width, &kx);
                                s.n_units = least(kernels->n_units, layer->n_units - u);
                                kernels->place(&s,
                                                x + (oy * c->stride + ky - c->padding) * s.from_step[1] +
                                                                (ox * c->stride + kx - c->padding) *
                                                                                s.from_step[2],
                                                scratch + ky * s.weight_step[1] + kx * s.weight_step[2] + u,
                                                rows, false,
                                                y + u * s.to_step + (oy * c->out_width + ox) * rows);
                        }
}

void convolution_backward_input(const Layer *layer, const float *weight, const float *dy, uint32_t rows,
                bool accumulate, float *scratch, float *dx) {
        const Convolution *c = &layer->convolution;
        const Kernels *kernels = kernels_chosen();
        uint32_t step = padded(c->channels), area = c->kernel * c->kernel, ky, kx, oy, ox;
        size_t squares = (size_t) c->out_height * c->out_width, tap = (size_t) layer->n_units * step;
        /* A square that is further up or further left contains the same number further down or further
         * right. So the squares are read backwards, and the weights forwards. */
        Sum s = {
                .n = { 0, 0, layer->n_units },
                .from_step = { -(ptrdiff_t) c->out_width * rows, -(ptrdiff_t) rows, squares * rows },
                .weight_step = { c->stride * c->kernel * tap, c->stride * tap, step },
                .to_step = (size_t) c->channel_step * rows,
        };

        /* the layout of `scratch`: [kernel][kernel][units][channels] */
        for (uint32_t k = 0; k < area; k++)
                for (uint32_t u = 0; u < layer->n_units; u++)
                        for (uint32_t i = 0; i < step; i++)
                                scratch[k * tap + (size_t) u * step + i] =
                                                i < c->channels ? weight[(size_t) u * layer->n_reads +
                                                                                  (size_t) i * area + k]
                                                                : 0;

        for (uint32_t row = 0; row < c->height; row++)
                for (uint32_t i = 0; i < c->channels; i += kernels->n_units)
                        for (uint32_t column = 0; column < c->width; column++) {
                                size_t to = (size_t) row * c->row_step + (size_t) column * c->column_step;

                                s.n[0] = hits_backward(c, row, c->out_height, &ky, &oy);
                                s.n[1] = hits_backward(c, column, c->out_width, &kx, &ox);
                                s.n_units = least(kernels->n_units, c->channels - i);
                                kernels->place(&s, dy + ((size_t) oy * c->out_width + ox) * rows,
                                                scratch + (ky * c->kernel + kx) * tap + i, rows, accumulate,
                                                dx + i * s.to_step + to * rows);
                        }
}

/* Finds the inputs for the SIDE weights k, k + 1, ... of a unit, in n squares from `square` on. Outside of
 * the image, inputs are zeros. Beyond the last weight, the last weight's input is repeated. */
static void reads_find(const Layer *layer, const float *x, uint32_t square, uint32_t n, uint32_t k,
                uint32_t rows, const float *ret[static SQUARES][SIDE]) {
        const Convolution *c = &layer->convolution;

        for (uint32_t i = 0; i < SIDE; i++) {
                uint32_t at = least(k + i, layer->n_reads - 1), channel = at / (c->kernel * c->kernel);
                int64_t ky = (int64_t) (at / c->kernel % c->kernel) - c->padding;
                int64_t kx = (int64_t) (at % c->kernel) - c->padding;
                uint32_t oy = square / c->out_width, ox = square % c->out_width;

                for (uint32_t s = 0; s < n; s++) {
                        int64_t row = (int64_t) oy * c->stride + ky, column = (int64_t) ox * c->stride + kx;

                        ret[s][i] = row < 0 || row >= c->height || column < 0 || column >= c->width
                                                    ? zeros
                                                    : x + ((size_t) channel * c->channel_step +
                                                                          (size_t) row * c->row_step +
                                                                          (size_t) column * c->column_step) *
                                                                                      rows;
                        if (++ox == c->out_width) {
                                ox = 0;
                                oy++;
                        }
                }
        }
}

/* Adds the sums of a block of weights to their gradient. accumulate false: writes them instead. */
static void weights_add(const Layer *layer, const float sums[SIDE][SIDE], uint32_t u, uint32_t k,
                bool accumulate, float *dweight) {
        for (uint32_t j = 0; j < least(SIDE, layer->n_units - u); j++)
                for (uint32_t i = 0; i < least(SIDE, layer->n_reads - k); i++) {
                        float *w = &dweight[(size_t) (u + j) * layer->n_reads + k + i];

                        *w = accumulate ? *w + sums[j][i] : sums[j][i];
                }
}

void convolution_backward_weight(const Layer *layer, const float *dy, const float *x, uint32_t rows,
                bool accumulate, float *dweight) {
        const Convolution *c = &layer->convolution;
        const Kernels *kernels = kernels_chosen();
        uint32_t squares = c->out_height * c->out_width;
        const float *reads[SQUARES][SIDE], *d[SIDE];
        float sums[SIDE][SIDE];

        assert(rows <= SHARD_ROWS_MAX);

        for (uint32_t first = 0; first < squares; first += SQUARES) {
                uint32_t n = least(SQUARES, squares - first);

                for (uint32_t k = 0; k < layer->n_reads; k += SIDE) {
                        reads_find(layer, x, first, n, k, rows, reads);
                        for (uint32_t u = 0; u < layer->n_units; u += SIDE) {
                                for (uint32_t j = 0; j < SIDE; j++)
                                        d[j] = dy + ((size_t) least(u + j, layer->n_units - 1) * squares +
                                                                    first) *
                                                                    rows;
                                kernels->weights(d, reads, n, rows, sums);
                                weights_add(layer, sums, u, k, accumulate || first > 0, dweight);
                        }
                }
        }
}
