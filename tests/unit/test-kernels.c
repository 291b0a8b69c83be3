/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Kernels and BLAS against the plain loops, elementary functions against libm. */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "include/policy.h"
#include "learner/blas.h"
#include "learner/kernels.h"
#include "lib/forward.h"

static float *random_floats(GRand *rand, size_t n, double scale) {
        float *x = aligned_alloc(64, (n * sizeof(float) + 63) / 64 * 64);

        for (size_t i = 0; i < n; i++)
                x[i] = (float) g_rand_double_range(rand, -scale, scale);
        return x;
}

static void assert_near(const float *a, const float *b, size_t n, double relative) {
        for (size_t i = 0; i < n; i++)
                if (!(fabs((double) a[i] - (double) b[i]) <= relative * fmax(1.0, fabs((double) b[i]))))
                        g_error("number %zu is %g, not %g", i, (double) a[i], (double) b[i]);
}

static void test_products(void) {
        static const uint32_t shapes[][2] = { { 64, 4 }, { 64, 64 }, { 1, 64 }, { 2, 64 }, { 3, 11 },
                { 256, 256 }, { 17, 5 } };
        g_autoptr(GRand) rand = g_rand_new_with_seed(1);

        g_test_message("OpenBLAS has %s kernels", blas_kernel_name());
        for (size_t i = 0; i < G_N_ELEMENTS(shapes); i++)
                for (uint32_t rows = 32; rows <= 64; rows += 32) {
                        uint32_t n_out = shapes[i][0], n_in = shapes[i][1];
                        g_autofree float *w = random_floats(rand, (size_t) n_out * n_in, 1);
                        g_autofree float *x = random_floats(rand, (size_t) n_in * rows, 1);
                        g_autofree float *dy = random_floats(rand, (size_t) n_out * rows, 1);
                        g_autofree float *a = random_floats(rand, 65536, 1);
                        g_autofree float *b = g_memdup2(a, 65536 * sizeof(float));

                        blas_forward(w, x, n_out, n_in, rows, a);
                        naive_matmul(w, false, x, false, 0, n_out, rows, n_in, b);
                        assert_near(a, b, (size_t) n_out * rows, 2e-5);
                        for (int add = 0; add < 2; add++) {
                                blas_backward_input(w, dy, n_out, n_in, rows, add, a);
                                naive_matmul(w, true, dy, false, (float) add, n_in, rows, n_out, b);
                                assert_near(a, b, (size_t) n_in * rows, 5e-5);
                        }
                        memcpy(b, a, 65536 * sizeof(float));
                        for (int add = 1; add >= 0; add--) {
                                blas_backward_weight(dy, x, n_out, n_in, rows, add, a);
                                naive_matmul(dy, false, x, true, (float) add, n_out, n_in, rows, b);
                                assert_near(a, b, (size_t) n_out * n_in, 5e-5);
                                if (blas_prefers_transposed(n_out, n_in, rows)) {
                                        g_autofree float *xt = random_floats(rand, (size_t) n_in * rows, 1);

                                        kernel_transpose(x, n_in, rows, xt);
                                        for (uint32_t k = 0; k < n_in * rows; k++)
                                                g_assert_cmpfloat(xt[k], ==, x[k % n_in * rows + k / n_in]);
                                        blas_backward_weight_transposed(dy, xt, n_out, n_in, rows, false, a);
                                        naive_matmul(dy, false, x, true, 0, n_out, n_in, rows, b);
                                        assert_near(a, b, (size_t) n_out * n_in, 5e-5);
                                }
                        }
                }
}

/* Bytes of whole lanes and of those that are left over. */
static void test_pixels(void) {
        enum { N = 43, STRIDE = 32 };
        g_autoptr(GRand) rand = g_rand_new_with_seed(9);
        uint8_t bytes[KERNEL_LANES][N];
        const uint8_t *rows[KERNEL_LANES];
        float columns[N][STRIDE];

        for (uint32_t r = 0; r < KERNEL_LANES; r++) {
                rows[r] = bytes[r];
                for (uint32_t k = 0; k < N; k++)
                        bytes[r][k] = (uint8_t) g_rand_int_range(rand, 0, 256);
        }
        kernel_pixels(rows, N, 1.0f / 255.0f, STRIDE, columns[0]);
        for (uint32_t k = 0; k < N; k++)
                for (uint32_t r = 0; r < KERNEL_LANES; r++)
                        g_assert_cmpfloat(columns[k][r], ==, (float) bytes[r][k] * (1.0f / 255.0f));
}

static void test_activations(void) {
        g_autoptr(GRand) rand = g_rand_new_with_seed(2);

        for (uint32_t activation = LAYER_NONE; activation <= LAYER_RELU; activation++)
                for (uint32_t stride = 16; stride <= 64; stride += 16) {
                        enum { N = 7 };
                        g_autofree float *y = random_floats(rand, N * stride, 4),
                                         *bias = random_floats(rand, N, 1);
                        g_autofree float *y2 = g_memdup2(y, N * stride * sizeof(float));
                        g_autofree float *d = random_floats(rand, N * stride, 1),
                                         *d2 = g_memdup2(d, N * stride * sizeof(float));
                        float db[N] = { 1, 2, 3 }, db2[N] = { 1, 2, 3 };

                        kernel_bias_activate(y, bias, N, stride, activation);
                        naive_bias_activate(y2, bias, N, stride, activation);
                        assert_near(y, y2, N * stride, 1e-6);
                        memcpy(y2, y, N * stride * sizeof(float));
                        kernel_activation_backward(d, y, db, N, stride, activation, true);
                        naive_activation_backward(d2, y2, db2, N, stride, activation, true);
                        assert_near(d, d2, N * stride, 1e-6);
                        assert_near(db, db2, N, 1e-5);
                        kernel_activation_backward(d, y, db, N, stride, LAYER_NONE, false);
                        naive_activation_backward(d2, y2, db2, N, stride, LAYER_NONE, false);
                        assert_near(db, db2, N, 1e-5);
                }
}

/* The learner's tanh is the actor's, bit for bit: over all magnitudes, and what is no number. */
static void test_tanh(void) {
        enum { N = 64 };
        float x[N] __attribute__((aligned(64))), expected[N];
        const float zero = 0;

        for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 6007 * N) {
                for (uint32_t i = 0; i < N; i++) {
                        uint32_t b = (uint32_t) (bits + 6007u * i);

                        memcpy(&x[i], &b, sizeof(b));
                        expected[i] = forward_tanh(x[i]);
                }
                kernel_bias_activate(x, &zero, 1, N, LAYER_TANH);
                for (uint32_t i = 0; i < N; i++)
                        g_assert_true(memcmp(&x[i], &expected[i], sizeof(float)) == 0 ||
                                        (isnan(x[i]) && isnan(expected[i])) ||
                                        (x[i] == 0 && expected[i] == 0));
        }
}

static void test_elementary(void) {
        enum { N = 64 };
        float x[N] __attribute__((aligned(64)));
        double worst_exp = 0, worst_log = 0;

        for (int i = -86 * N; i < 88 * N; i += N) {
                for (int k = 0; k < N; k++)
                        x[k] = (float) (i + k) / N;
                kernel_exp(x, N);
                for (int k = 0; k < N; k++) {
                        double e = exp((double) ((float) (i + k) / N));

                        worst_exp = fmax(worst_exp, fabs((double) x[k] / e - 1.0));
                }
        }
        for (double at = 1e-30; at < 1e30; at *= 1.37) {
                for (int k = 0; k < N; k++)
                        x[k] = (float) (at * (1 + k * 0.01));
                kernel_log(x, N);
                for (int k = 0; k < N; k++) {
                        double l = log((double) (float) (at * (1 + k * 0.01)));

                        worst_log = fmax(worst_log, fabs((double) x[k] - l) / fmax(fabs(l), 1.0));
                }
        }
        g_assert_cmpfloat(worst_exp, <, 3e-7);
        g_assert_cmpfloat(worst_log, <, 3e-7);

        x[0] = 1000;
        x[1] = -1000;
        x[2] = NAN;
        kernel_exp(x, N);
        g_assert_true(isfinite(x[0]) && x[0] > 1e38f && x[1] > 0 && x[1] < 1e-36f && isnan(x[2]));
}

static void test_distributions(void) {
        enum { N = 5, ROWS = 64 };
        g_autoptr(GRand) rand = g_rand_new_with_seed(3);
        g_autofree float *logits = random_floats(rand, N * ROWS, 8),
                         *mean = random_floats(rand, N * ROWS, 2);
        g_autofree float *log_sd = random_floats(rand, N * ROWS, 1),
                         *action = random_floats(rand, N * ROWS, 3);
        float a[ROWS], b[ROWS], c[ROWS], d[ROWS];
        int32_t choice[ROWS];

        for (int i = 0; i < ROWS; i++)
                choice[i] = g_rand_int_range(rand, 0, N);

        naive_categorical(logits, choice, N, ROWS, a, b);
        kernel_categorical(logits, choice, N, ROWS, c, d);
        assert_near(c, a, ROWS, 2e-6);
        assert_near(d, b, ROWS, 2e-6);
        for (int r = 0; r < ROWS; r++)
                g_assert_cmpfloat(logits[choice[r] * ROWS + r], ==, c[r]);

        naive_gaussian(mean, log_sd, action, N, ROWS, a, b);
        kernel_gaussian(mean, log_sd, action, N, ROWS, c, d);
        assert_near(c, a, ROWS, 3e-6);
        assert_near(d, b, ROWS, 2e-6);
}

static void test_sums(void) {
        g_autoptr(GRand) rand = g_rand_new_with_seed(4);

        for (size_t n = 0; n < 100; n++) {
                g_autofree float *x = random_floats(rand, n, 1);
                double sum = 0, squares = 0;

                for (size_t i = 0; i < n; i++) {
                        sum += (double) x[i];
                        squares += (double) x[i] * (double) x[i];
                }
                g_assert_cmpfloat(fabs(kernel_sum(x, n) - sum), <, 1e-12);
                g_assert_cmpfloat(fabs(kernel_square_sum(x, n) - squares), <, 1e-12);
        }
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/kernels/products", test_products);
        g_test_add_func("/kernels/pixels", test_pixels);
        g_test_add_func("/kernels/activations", test_activations);
        g_test_add_func("/kernels/tanh", test_tanh);
        g_test_add_func("/kernels/elementary", test_elementary);
        g_test_add_func("/kernels/distributions", test_distributions);
        g_test_add_func("/kernels/sums", test_sums);
        return g_test_run();
}
