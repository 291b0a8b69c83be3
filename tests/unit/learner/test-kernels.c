/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compares the kernels with the plain loops, and elementary functions with libm. */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "include/fragment.h"
#include "include/policy.h"
#include "learner/kernel/kernels.h"
#include "lib/elementary.h"
#include "lib/width.h"

static float *random_floats(GRand *rand, size_t n, double scale) {
        float *x = aligned_alloc(64, (n * sizeof(float) + 63) / 64 * 64);

        for (size_t i = 0; i < n; i++)
                x[i] = (float) g_rand_double_range(rand, -scale, scale);
        return x;
}

static double *random_doubles(GRand *rand, size_t n) {
        double *x = g_new(double, n);

        for (size_t i = 0; i < n; i++)
                x[i] = g_rand_double_range(rand, -1.0, 1.0);
        return x;
}

static void assert_near(const float *a, const float *b, size_t n, double relative) {
        for (size_t i = 0; i < n; i++)
                if (!(fabs((double) a[i] - (double) b[i]) <= relative * fmax(1.0, fabs((double) b[i]))))
                        g_error("number %zu is %g, not %g", i, (double) a[i], (double) b[i]);
}

static void assert_same(const float *a, const float *b, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (memcmp(&a[i], &b[i], sizeof(float)) != 0)
                        g_error("number %zu is %a, not %a", i, (double) a[i], (double) b[i]);
}

/* At each width of vectors (lib/width.h), each kernel gives the same bits as the plain loop. So all widths
 * give the same bits. The sizes are narrow and wide, with and without rows and columns that are left over,
 * and with more numbers than are added at a time. */
static void check_products(uint32_t n_out, uint32_t n_in, uint32_t rows) {
        const uint32_t n_in_whole = (n_in + KERNEL_LANES - 1) / KERNEL_LANES * KERNEL_LANES;
        const size_t n_weights = (size_t) n_out * n_in;
        g_autoptr(GRand) rand = g_rand_new_with_seed(1);
        g_autofree float *w = random_floats(rand, n_weights, 1), *bias = random_floats(rand, n_out, 1);
        g_autofree float *x = random_floats(rand, (size_t) n_in * rows, 1);
        g_autofree float *dy = random_floats(rand, (size_t) n_out * rows, 1);
        g_autofree float *xt = random_floats(rand, (size_t) n_in_whole * rows, 1);
        g_autofree float *dyt = random_floats(rand, (size_t) (n_out + KERNEL_LANES) * rows, 1);
        size_t n = n_weights + (size_t) (n_out + n_in) * rows;
        g_autofree float *a = random_floats(rand, n, 1), *b = g_memdup2(a, n * sizeof(float));

        kernel_transpose(x, n_in, rows, xt);
        for (uint32_t r = 0; r < rows; r++)
                for (uint32_t k = 0; k < n_in_whole; k++)
                        g_assert_cmpfloat(xt[(size_t) r * n_in_whole + k], ==,
                                        k < n_in ? x[(size_t) k * rows + r] : 0.0f);

        kernel_forward(w, bias, x, n_out, n_in, rows, a);
        naive_product(&(Product){ n_out, rows, n_in, w, x, bias, n_in, 1, rows, false, b, rows });
        assert_same(a, b, n);
        for (int add = 0; add < 2; add++) {
                kernel_backward_input(w, dy, n_out, n_in, rows, add, a);
                naive_product(&(Product){ n_in, rows, n_out, w, dy, NULL, 1, n_in, rows, add, b, rows });
                assert_same(a, b, n);
                kernel_backward_weight(dy, xt, n_out, n_in, rows, add, a);
                naive_product(&(Product){
                                n_out, n_in, rows, dy, xt, NULL, rows, 1, n_in_whole, add, b, n_in });
                assert_same(a, b, n);
                if (n_in > NARROW_MAX)
                        continue;
                kernel_transpose(dy, n_out, rows, dyt);
                kernel_backward_weight_narrow(dyt, x, n_out, n_in, rows, add, a);
                naive_product(&(Product){
                                n_out, n_in, rows, dy, xt, NULL, rows, 1, n_in_whole, add, b, n_in });
                assert_same(a, b, n);
        }
}

static void test_products(void) {
        static const uint32_t shapes[][2] = { { 64, 4 }, { 64, 64 }, { 1, 64 }, { 2, 64 }, { 3, 11 },
                { 256, 256 }, { 17, 5 }, { 131, 12 }, { 5, 700 }, { 23, 33 } };

        for (Width width = 0; width < _WIDTH_MAX; width++) {
                if (!width_present(width)) {
                        g_test_message("this CPU has only: %s", width_words_present());
                        continue;
                }
                width_choose(width);
                for (size_t i = 0; i < G_N_ELEMENTS(shapes); i++)
                        for (uint32_t rows = 32; rows <= 64; rows += 32)
                                check_products(shapes[i][0], shapes[i][1], rows);
        }
}

/* The results of the other kernels that depend on the width, for the same input. All widths must give the
 * bits of plain C. */
typedef struct Outcome {
        float y[5][7 * 64], d[5][7 * 64], dbias[5][7], sloped[2][7 * 64], slopes[2][7 * 64];
        float logits[7 * 64], d_logits[7 * 64], d_mean[7 * 64], d_log_sd[7 * 64];
        float rows[4][64], parameters[500], m[500], v[500], sum[500];
        float parts[6][500];
        double squares[6][KERNEL_LANES], group[7 * KERNEL_GROUP], row[45];
} Outcome;

static const uint32_t part_counts[6] = { 1, 2, 3, 4, 7, GRADIENT_PARTS };

/* Adds n_parts parts, made from x, into ret, which has n numbers. */
static void add_parts(uint32_t n_parts, const float *x, size_t n, float *ret, double *ret_squares) {
        g_autofree float *all = g_new(float, (size_t) n_parts *n);
        float *parts[GRADIENT_PARTS];

        for (uint32_t part = 0; part < n_parts; part++) {
                parts[part] = all + part * n;
                for (size_t i = 0; i < n; i++)
                        parts[part][i] = x[(i + 3 * part) % n];
        }
        kernel_parts_add(parts, n_parts, 0, n, ret_squares);
        memcpy(ret, all, n * sizeof(float));
}

static void compute(Outcome *o) {
        enum { N = 7, ROWS = 64, FLAT = 500 };
        g_autoptr(GRand) rand = g_rand_new_with_seed(5);
        g_autofree float *x = random_floats(rand, N * ROWS, 3), *bias = random_floats(rand, N, 1);
        g_autofree float *action = random_floats(rand, N * ROWS, 2), *flat = random_floats(rand, 512, 1);
        const AdamScalars scalars = { 1e-3, 0.9, 0.999, 1e-5, 0.7, 0.3 };
        g_autofree double *unit = g_new(double, 3 * 45);
        int32_t choice[ROWS];

        memset(o, 0, sizeof(*o));
        for (uint32_t activation = LAYER_NONE; activation <= LAYER_MISH; activation++) {
                memcpy(o->y[activation], x, sizeof(o->y[0]));
                memcpy(o->d[activation], action, sizeof(o->d[0]));
                if (activation >= LAYER_SILU) {
                        uint32_t k = activation - LAYER_SILU;

                        memcpy(o->sloped[k], x, sizeof(o->sloped[0]));
                        kernel_activate_sloped(o->sloped[k], N * ROWS, activation, o->slopes[k]);
                }
                kernel_bias_activate(o->y[activation], bias, N, ROWS, activation);
                kernel_activation_backward(o->d[activation], o->y[activation], o->dbias[activation], N, ROWS,
                                activation, false);
        }

        for (int i = 0; i < ROWS; i++)
                choice[i] = g_rand_int_range(rand, 0, N);
        memcpy(o->logits, x, sizeof(o->logits));
        kernel_categorical(o->logits, choice, N, ROWS, o->rows[0], o->rows[1]);
        kernel_categorical_backward(o->logits, choice, o->rows[1], x, x + ROWS, N, ROWS, o->d_logits);
        kernel_gaussian(x, action, action, N, ROWS, o->rows[2], o->rows[3]);
        kernel_gaussian_backward(x, action, action, x, x + ROWS, N, ROWS, o->d_mean, o->d_log_sd);

        memcpy(o->parameters, flat, sizeof(o->parameters));
        kernel_adam(o->parameters, o->m, o->v, x, MIN(FLAT, N * ROWS), &scalars);
        memcpy(o->sum, flat, sizeof(o->sum));
        kernel_add(o->sum, flat + 3, FLAT);
        for (size_t k = 0; k < G_N_ELEMENTS(o->parts); k++)
                add_parts(part_counts[k], flat, FLAT, o->parts[k], o->squares[k]);

        for (int i = 0; i < 3 * 45; i++)
                unit[i] = g_rand_double(rand);
        for (size_t i = 0; i < G_N_ELEMENTS(o->group); i++)
                o->group[i] = flat[i];
        for (size_t i = 0; i < G_N_ELEMENTS(o->row); i++)
                o->row[i] = flat[i];
        kernel_clear_group(o->group, unit, 3, N);
        kernel_clear_row(o->row, unit, 3, 45);
}

/* Moments that fade become 0, since arithmetic with subnormal numbers is slow. Parameters do not notice. */
static void test_moments_fade(void) {
        static const struct {
                float m, v, gradient, m_after, v_after;
        } cases[] = {
                { 0x1p-149f, 0x1p-140f, 0, 0, 0 },
                { -0x1p-121f, 0x1p-121f, 0, 0, 0 },
                { 0, 0, 1e-19f, 1e-19f * 0.1f, 0 },
                { 1e-30f, 1e-30f, 0, 1e-30f * 0.9f, 1e-30f * 0.999f },
        };
        enum { CASES = G_N_ELEMENTS(cases), N = 10 * CASES };
        const AdamScalars scalars = { 1e-3, 0.9, 0.999, 1e-5, 0.7, 1 };
        float parameters[N], m[N], v[N], gradient[N];

        for (Width width = WIDTH_SCALAR; width < _WIDTH_MAX; width++) {
                if (!width_present(width))
                        continue;
                width_choose(width);
                for (int i = 0; i < N; i++) {
                        parameters[i] = 0.5f;
                        m[i] = cases[i % CASES].m;
                        v[i] = cases[i % CASES].v;
                        gradient[i] = cases[i % CASES].gradient;
                }
                kernel_adam(parameters, m, v, gradient, N, &scalars);
                for (int i = 0; i < N; i++) {
                        g_assert_true(parameters[i] == 0.5f);
                        g_assert_true(m[i] == cases[i % CASES].m_after);
                        g_assert_true(v[i] == cases[i % CASES].v_after);
                }
        }
}

static void test_widths(void) {
        g_autofree Outcome *plain = g_new0(Outcome, 1), *wide = g_new0(Outcome, 1);

        width_choose(WIDTH_SCALAR);
        compute(plain);
        for (Width width = WIDTH_AVX2; width < _WIDTH_MAX; width++)
                if (width_present(width)) {
                        width_choose(width);
                        compute(wide);
                        g_assert_cmpmem(wide, sizeof(*wide), plain, sizeof(*plain));
                } else
                        g_test_message("this CPU has only: %s", width_words_present());
}

/* Checks the matrix c = a b in double precision. Each of its sums must run over k in sequence, without fused
 * multiply-adds. */
static void check_double_product(GRand *rand, uint32_t m, uint32_t n, uint32_t k, bool a_turned,
                bool b_turned, bool accumulate) {
        g_autofree double *a = random_doubles(rand, (size_t) m * k),
                          *b = random_doubles(rand, (size_t) k * n);
        g_autofree double *c = random_doubles(rand, (size_t) m * n);
        g_autofree double *expected = g_memdup2(c, (size_t) m * n * sizeof(double));
        const DoubleProduct p = {
                .m = m,
                .n = n,
                .k = k,
                .a = a,
                .a_m = a_turned ? 1 : k,
                .a_k = a_turned ? m : 1,
                .b = b,
                .b_k = b_turned ? 1 : n,
                .b_n = b_turned ? k : 1,
                .accumulate = accumulate,
                .c = c,
        };

        for (uint32_t i = 0; i < m; i++)
                for (uint32_t j = 0; j < n; j++) {
                        double *sum = &expected[(size_t) i * n + j];

                        *sum = accumulate ? *sum : 0.0;
                        for (uint32_t l = 0; l < k; l++)
                                *sum += a[i * p.a_m + l * p.a_k] * b[l * p.b_k + j * p.b_n];
                }
        kernel_double_product(&p);
        g_assert_cmpmem(c, (size_t) m * n * sizeof(double), expected, (size_t) m * n * sizeof(double));
}

static void check_double_vectors(GRand *rand, uint32_t rows, size_t n) {
        g_autofree double *a = random_doubles(rand, rows * n), *x = random_doubles(rand, n);
        g_autofree double *along = random_doubles(rand, rows), *y = random_doubles(rand, n);
        g_autofree double *expected = g_memdup2(y, n * sizeof(double)), *dots = g_new(double, rows);

        kernel_double_dots(a, rows, n, x, dots);
        for (uint32_t row = 0; row < rows; row++) {
                double lanes[KERNEL_GROUP] = {}, sum = 0.0;

                for (size_t i = 0; i < n; i++)
                        lanes[i % KERNEL_GROUP] += a[row * n + i] * x[i];
                for (size_t l = 0; l < KERNEL_GROUP; l++)
                        sum += lanes[l];
                g_assert_true(dots[row] == sum);
        }

        kernel_double_take(a, rows, n, along, y);
        for (uint32_t row = 0; row < rows; row++)
                for (size_t i = 0; i < n; i++)
                        expected[i] -= along[row] * a[row * n + i];
        g_assert_cmpmem(y, n * sizeof(double), expected, n * sizeof(double));
}

static void test_doubles(void) {
        static const uint32_t sizes[] = { 1, 2, 7, 8, 9, 64, 130 };
        enum { N = G_N_ELEMENTS(sizes) };

        for (Width width = 0; width < _WIDTH_MAX; width++) {
                g_autoptr(GRand) rand = g_rand_new_with_seed(11);

                if (!width_present(width))
                        continue;
                width_choose(width);
                for (uint32_t i = 0; i < 8 * N; i++)
                        check_double_product(rand, sizes[i % N], sizes[(i + 1 + i / N) % N],
                                        sizes[(i + 3) % N], i & 1, i & 2, i & 4);
                for (uint32_t i = 0; i < N; i++)
                        check_double_vectors(rand, sizes[i] % 60 + 1, 17 * sizes[N - 1 - i]);
        }
}

/* N is no multiple of the lanes, so some bytes are left over. */
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

        for (uint32_t activation = LAYER_NONE; activation <= LAYER_MISH; activation++)
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

/* The kernels' slopes and values of activations are close to those that the C library gives in double
 * precision, also far from 0, and they are finite everywhere. Actors compute values without slopes, and
 * must get the same bits. */
static void test_slopes(void) {
        enum { N = 1 << 12 };
        g_autofree float *x = g_new(float, N), *got = g_new(float, N), *expected = g_new(float, N);
        g_autofree float *y = g_new(float, N), *none = g_new0(float, N), *with = g_new(float, N);
        float *bias = none;

        for (int i = 0; i < N; i++)
                x[i] = (float) (i - N / 2) / 16;
        for (uint32_t activation = LAYER_SILU; activation <= LAYER_MISH; activation++) {
                memcpy(with, x, N * sizeof(float));
                kernel_activate_sloped(with, N, activation, got);
                naive_slopes(x, N, activation, expected);
                assert_near(got, expected, N, 1e-6);

                memcpy(got, x, N * sizeof(float));
                memcpy(y, x, N * sizeof(float));
                kernel_activate(got, N, activation);
                g_assert_cmpmem(with, N * sizeof(float), got, N * sizeof(float));
                naive_bias_activate(y, bias, 1, N, activation);
                assert_near(got, y, N, 1e-6);
        }
}

/* The vector kernel of tanh gives the same bits as the plain function, over all magnitudes and for NaN. */
static void test_tanh(void) {
        enum { N = 64 };
        float x[N] __attribute__((aligned(64))), expected[N];
        const float zero = 0;

        for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 6007 * N) {
                for (uint32_t i = 0; i < N; i++) {
                        uint32_t b = (uint32_t) (bits + 6007u * i);

                        memcpy(&x[i], &b, sizeof(b));
                        expected[i] = elementary_tanh(x[i]);
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
                        x[k] = elementary_exp((float) (i + k) / N);
                for (int k = 0; k < N; k++) {
                        double e = exp((double) ((float) (i + k) / N));

                        worst_exp = fmax(worst_exp, fabs((double) x[k] / e - 1.0));
                }
        }
        for (double at = 1e-30; at < 1e30; at *= 1.37) {
                for (int k = 0; k < N; k++)
                        x[k] = elementary_log((float) (at * (1 + k * 0.01)));
                for (int k = 0; k < N; k++) {
                        double l = log((double) (float) (at * (1 + k * 0.01)));

                        worst_log = fmax(worst_log, fabs((double) x[k] - l) / fmax(fabs(l), 1.0));
                }
        }
        g_assert_cmpfloat(worst_exp, <, 3e-7);
        g_assert_cmpfloat(worst_log, <, 3e-7);

        x[0] = elementary_exp(1000);
        x[1] = elementary_exp(-1000);
        g_assert_true(isfinite(x[0]) && x[0] > 1e38f && x[1] > 0 && x[1] < 1e-36f);
        g_assert_true(isnan(elementary_exp(NAN)));
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

/* Compares n numbers of all parts, from `first` on, with sums in the same tree. The numbers around them must
 * stay. */
static void check_parts(GRand *rand, uint32_t n_parts, size_t first, size_t n) {
        size_t all = first + n + 3;
        g_autofree float *x = random_floats(rand, n_parts * all, 1);
        g_autofree float *tree = g_memdup2(x, n_parts * all * sizeof(float));
        float *parts[GRADIENT_PARTS];
        double squares[KERNEL_LANES] = {}, whole[KERNEL_LANES] = {};
        size_t half = n / 2 / KERNEL_LANES * KERNEL_LANES;

        for (uint32_t part = 0; part < n_parts; part++)
                parts[part] = x + part * all;
        for (size_t i = first; i < first + n; i++) {
                for (uint32_t step = 1; step < n_parts; step *= 2)
                        for (uint32_t part = 0; part + step < n_parts; part += 2 * step)
                                tree[part * all + i] += tree[(part + step) * all + i];
                whole[(i - first) % KERNEL_LANES] += (double) tree[i] * (double) tree[i];
        }
        /* The second call goes on with the squares of the first. */
        kernel_parts_add(parts, n_parts, first, half, squares);
        kernel_parts_add(parts, n_parts, first + half, n - half, squares);
        g_assert_cmpmem(squares, sizeof(squares), whole, sizeof(whole));
        g_assert_cmpmem(x, all * sizeof(float), tree, all * sizeof(float));
}

static void test_parts(void) {
        g_autoptr(GRand) rand = g_rand_new_with_seed(4);

        for (uint32_t n_parts = 1; n_parts <= GRADIENT_PARTS; n_parts++)
                for (size_t n = 0; n < 100; n++)
                        check_parts(rand, n_parts, n % 5, n);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/kernels/products", test_products);
        g_test_add_func("/kernels/widths", test_widths);
        g_test_add_func("/kernels/moments-fade", test_moments_fade);
        g_test_add_func("/kernels/doubles", test_doubles);
        g_test_add_func("/kernels/pixels", test_pixels);
        g_test_add_func("/kernels/activations", test_activations);
        g_test_add_func("/kernels/slopes", test_slopes);
        g_test_add_func("/kernels/tanh", test_tanh);
        g_test_add_func("/kernels/elementary", test_elementary);
        g_test_add_func("/kernels/distributions", test_distributions);
        g_test_add_func("/kernels/parts", test_parts);
        return g_test_run();
}
