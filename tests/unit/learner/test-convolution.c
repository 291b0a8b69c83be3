/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compares a learner's convolutions, forward and backward, with plain sums in double precision. Also tests
 * that all sets of kernels that this host supports give equal results. The source is included, since the
 * kernels are not exported. */
#include "learner/kernel/convolution.c" /* NOLINT(bugprone-suspicious-include) */

#include <glib.h>
#include <math.h>
#include <string.h>

#include "tests/unit/gradient-reference.h"

typedef struct Shape {
        const char *name;
        uint32_t channels, height, width, units, kernel, stride, padding;
        bool channels_last;
} Shape;

static Layer layer_make(const Shape *s) {
        uint32_t out_height = (s->height + 2 * s->padding - s->kernel) / s->stride + 1;
        uint32_t out_width = (s->width + 2 * s->padding - s->kernel) / s->stride + 1;

        return (Layer){
                .kind = LAYER_CONVOLUTION,
                .n_in = s->channels * s->height * s->width,
                .n_out = s->units * out_height * out_width,
                .n_units = s->units,
                .n_reads = s->channels * s->kernel * s->kernel,
                .convolution = {
                        .channels = s->channels,
                        .height = s->height,
                        .width = s->width,
                        .channel_step = s->channels_last ? 1 : s->height * s->width,
                        .row_step = s->channels_last ? s->width * s->channels : s->width,
                        .column_step = s->channels_last ? s->channels : 1,
                        .kernel = s->kernel,
                        .stride = s->stride,
                        .padding = s->padding,
                        .out_height = out_height,
                        .out_width = out_width,
                },
        };
}

static float *floats_draw(GRand *rand, size_t n) {
        float *x = g_new(float, n);

        for (size_t i = 0; i < n; i++)
                x[i] = (float) g_rand_double_range(rand, -1, 1);
        return x;
}

/* Adds the results to the numbers that y, dweight and dx already have. */
static void reference_compute(const Layer *l, const float *weight, const float *x, const float *dy,
                uint32_t rows, double *y, double *dweight, double *dx) {
        uint32_t squares = l->n_out / l->n_units;

        for (uint32_t u = 0; u < l->n_units; u++)
                for (uint32_t square = 0; square < squares; square++)
                        for (uint32_t k = 0; k < l->n_reads; k++) {
                                int64_t at = reference_place(&l->convolution, square, k);
                                size_t w = (size_t) u * l->n_reads + k, out = (size_t) u * squares + square;

                                for (uint32_t r = 0; at >= 0 && r < rows; r++) {
                                        double read = (double) x[at * rows + r],
                                               d = (double) dy[out * rows + r];

                                        y[out * rows + r] += (double) weight[w] * read;
                                        dweight[w] += d * read;
                                        dx[at * rows + r] += d * (double) weight[w];
                                }
                        }
}

static void assert_near(const float *a, const double *b, size_t n) {
        double greatest = 0;

        for (size_t i = 0; i < n; i++)
                greatest = fmax(greatest, fabs(b[i]));
        for (size_t i = 0; i < n; i++)
                if (!(fabs((double) a[i] - b[i]) <= 1e-6 * fmax(1.0, greatest)))
                        g_error("number %zu is %g, not %g", i, (double) a[i], b[i]);
}

static void check_rows(const Shape *s, uint32_t rows, bool accumulate) {
        g_autoptr(GRand) rand = g_rand_new_with_seed(rows + s->kernel);
        Layer l = layer_make(s);
        size_t n_x = (size_t) l.n_in * rows, n_y = (size_t) l.n_out * rows, n_w = l.n_units * l.n_reads;
        g_autofree float *weight = floats_draw(rand, n_w), *x = floats_draw(rand, n_x);
        g_autofree float *dy = floats_draw(rand, n_y), *y = floats_draw(rand, n_y);
        g_autofree float *dweight = floats_draw(rand, n_w), *dx = floats_draw(rand, n_x);
        g_autofree float *scratch = g_new(float, convolution_scratch(&l));
        g_autofree double *expected_y = g_new0(double, n_y), *expected_dx = g_new0(double, n_x);
        g_autofree double *expected_dweight = g_new0(double, n_w);

        for (size_t i = 0; accumulate && i < n_w; i++)
                expected_dweight[i] = (double) dweight[i];
        for (size_t i = 0; accumulate && i < n_x; i++)
                expected_dx[i] = (double) dx[i];
        reference_compute(&l, weight, x, dy, rows, expected_y, expected_dweight, expected_dx);

        convolution_forward(&l, weight, x, rows, scratch, y);
        convolution_backward_weight(&l, dy, x, rows, accumulate, dweight);
        convolution_backward_input(&l, weight, dy, rows, accumulate, scratch, dx);
        assert_near(y, expected_y, n_y);
        assert_near(dweight, expected_dweight, n_w);
        assert_near(dx, expected_dx, n_x);
}

static void test_shape(gconstpointer p) {
        for (uint32_t rows = KERNEL_LANES; rows <= SHARD_ROWS_MAX; rows += KERNEL_LANES)
                check_rows(p, rows, rows % 32 == 0);
}

/* Runs these kernels: `place` writes the outputs to y [16][rows], and `weights` writes the gradient of a
 * block of weights to sums. */
static void kernels_run(const Kernels *kernels, const float *x, const float *weight, float *y, float *sums) {
        enum { ROWS = 48, UNITS = 16 };
        const float *reads[SQUARES][SIDE], *dy[SIDE];
        float block[SIDE][SIDE];

        for (uint32_t u = 0; u < UNITS; u += kernels->n_units) {
                Sum s = {
                        .n = { 3, 2, 5 },
                        .n_units = kernels->n_units,
                        .from_step = { 5 * ROWS, 2 * ROWS, ROWS },
                        .weight_step = { 10 * UNITS, 5 * UNITS, UNITS },
                        .to_step = ROWS,
                };

                kernels->place(&s, x, weight + u, ROWS, false, y + (size_t) u * ROWS);
        }

        for (uint32_t k = 0; k < SIDE; k++) {
                dy[k] = y + (size_t) k * ROWS;
                for (uint32_t i = 0; i < 3; i++)
                        reads[i][k] = x + (size_t) (k + 2 * i) * ROWS;
        }
        kernels->weights(dy, reads, 3, ROWS, block);
        memcpy(sums, block, sizeof(block));
}

static void test_widths(void) {
        g_autoptr(GRand) rand = g_rand_new_with_seed(5);
        g_autofree float *x = floats_draw(rand, 1000), *weight = floats_draw(rand, 480);
        float y[2][16 * 48] = {}, sums[2][SIDE * SIDE];

        kernels_run(&table_scalar, x, weight, y[0], sums[0]);
        for (Width width = WIDTH_AVX2; width < _WIDTH_MAX; width++) {
                if (!width_present(width))
                        continue;
                width_choose(width);
                kernels_run(kernels_chosen(), x, weight, y[1], sums[1]);
                g_assert_cmpmem(y[0], sizeof(y[0]), y[1], sizeof(y[1]));
                g_assert_cmpmem(sums[0], sizeof(sums[0]), sums[1], sizeof(sums[1]));
        }
}

int main(int argc, char *argv[]) {
        static const Shape shapes[] = {
                { "one", 1, 1, 1, 1, 1, 1, 0, false },
                { "narrow", 1, 5, 3, 3, 3, 1, 0, false },
                { "padded", 2, 7, 6, 9, 3, 1, 2, false },
                { "padded-far", 3, 4, 5, 4, 5, 2, 4, false },
                { "strides-2", 5, 9, 10, 13, 4, 2, 1, false },
                { "strides-3", 9, 11, 8, 7, 3, 3, 0, false },
                { "strides-4", 4, 21, 22, 17, 8, 4, 0, false },
                { "strides-beyond", 3, 12, 11, 5, 2, 4, 0, false },
                { "channels-last", 11, 8, 7, 6, 3, 2, 1, true },
                { "many-squares", 2, 12, 13, 8, 3, 1, 1, false },
        };

        g_test_init(&argc, &argv, NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(shapes); i++) {
                g_autofree char *path = g_strdup_printf("/convolution/%s", shapes[i].name);

                g_test_add_data_func(path, &shapes[i], test_shape);
        }
        g_test_add_func("/convolution/widths", test_widths);
        return g_test_run();
}
