/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copies of squares around three products. Numbers of one place lie side by side, one a row of the shard, so that every copy and every
 * addition runs over whole vectors. */
#include "learner/convolution.h"

#include <string.h>

#include "learner/blas.h"
#include "learner/kernels.h"

/* Columns of one output row. */
static uint32_t columns_of(const Convolution *c, uint32_t rows) {
        return c->out_width * rows;
}

/* Of the whole output: from one unit to the next. */
static size_t unit_stride(const Convolution *c, uint32_t rows) {
        return (size_t) c->out_height * c->out_width * rows;
}

size_t convolution_scratch(const Layer *layer, uint32_t rows_max) {
        return (size_t) layer->n_reads * columns_of(&layer->convolution, rows_max);
}

/* A place of a square in one output row: where the image has it for output column ox, or that it lies outside. */
typedef struct Place {
        int64_t row, column; /* of output column 0 */
        size_t at;           /* of the channel's row; meaningless outside */
        bool outside;        /* the whole row is */
} Place;

static Place place_of(const Convolution *c, uint32_t oy, uint32_t channel, uint32_t ky, uint32_t kx) {
        Place p = {
                .row = (int64_t) oy * c->stride + ky - c->padding,
                .column = (int64_t) kx - c->padding,
        };

        p.outside = p.row < 0 || p.row >= c->height;
        if (!p.outside)
                p.at = (size_t) channel * c->channel_step + (size_t) p.row * c->row_step;
        return p;
}

/* The image's number under output column ox, or NULL. */
static const float *place_find(
                const Convolution *c, const Place *p, const float *x, uint32_t ox, uint32_t rows) {
        int64_t column = p->column + (int64_t) ox * c->stride;

        if (p->outside || column < 0 || column >= c->width)
                return NULL;
        return x + (p->at + (size_t) column * c->column_step) * rows;
}

/* scratch [n_reads][out_width * rows] of output row oy. */
static void squares_read(const Convolution *c, const float *x, uint32_t oy, uint32_t rows, float *scratch) {
        for (uint32_t channel = 0; channel < c->channels; channel++)
                for (uint32_t ky = 0; ky < c->kernel; ky++)
                        for (uint32_t kx = 0; kx < c->kernel; kx++) {
                                Place p = place_of(c, oy, channel, ky, kx);

                                for (uint32_t ox = 0; ox < c->out_width; ox++, scratch += rows) {
                                        const float *from = place_find(c, &p, x, ox, rows);

                                        if (from)
                                                memcpy(scratch, from, rows * sizeof(float));
                                        else
                                                memset(scratch, 0, rows * sizeof(float));
                                }
                        }
}

/* And back: each number of the image gathers what all squares that it lies in say. */
static void squares_add(const Convolution *c, const float *scratch, uint32_t oy, uint32_t rows, float *dx) {
        for (uint32_t channel = 0; channel < c->channels; channel++)
                for (uint32_t ky = 0; ky < c->kernel; ky++)
                        for (uint32_t kx = 0; kx < c->kernel; kx++) {
                                Place p = place_of(c, oy, channel, ky, kx);

                                for (uint32_t ox = 0; ox < c->out_width; ox++, scratch += rows) {
                                        float *to = (float *) place_find(c, &p, dx, ox, rows);

                                        if (to)
                                                kernel_add(to, scratch, rows);
                                }
                        }
}

void convolution_forward(const Layer *layer, const float *weight, const float *x, uint32_t rows,
                float *scratch, float *y) {
        const Convolution *c = &layer->convolution;
        uint32_t columns = columns_of(c, rows);

        for (uint32_t oy = 0; oy < c->out_height; oy++) {
                squares_read(c, x, oy, rows, scratch);
                blas_convolve(weight, scratch, layer->n_units, layer->n_reads, columns, unit_stride(c, rows),
                                y + (size_t) oy * columns);
        }
}

void convolution_backward_weight(const Layer *layer, const float *dy, const float *x, uint32_t rows,
                bool accumulate, float *scratch, float *dweight) {
        const Convolution *c = &layer->convolution;
        uint32_t columns = columns_of(c, rows);

        for (uint32_t oy = 0; oy < c->out_height; oy++) {
                squares_read(c, x, oy, rows, scratch);
                blas_convolve_backward_weight(dy + (size_t) oy * columns, scratch, layer->n_units,
                                layer->n_reads, columns, unit_stride(c, rows), accumulate || oy > 0,
                                dweight);
        }
}

void convolution_backward_input(const Layer *layer, const float *weight, const float *dy, uint32_t rows,
                bool accumulate, float *scratch, float *dx) {
        const Convolution *c = &layer->convolution;
        uint32_t columns = columns_of(c, rows);

        if (!accumulate)
                memset(dx, 0, (size_t) layer->n_in * rows * sizeof(float));
        for (uint32_t oy = 0; oy < c->out_height; oy++) {
                blas_convolve_backward_input(weight, dy + (size_t) oy * columns, layer->n_units,
                                layer->n_reads, columns, unit_stride(c, rows), scratch);
                squares_add(c, scratch, oy, rows, dx);
        }
}
