/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The Lanczos method on diagonal matrices: how many steps it needs to find the smallest and the largest
 * eigenvalue, and that it fails where there are none. */
#include <errno.h>
#include <float.h>
#include <glib.h>
#include <math.h>

#include "learner/curvature/lanczos.h"

enum { N = 300 };

typedef struct Diagonal {
        double values[N];
        unsigned n_products;
} Diagonal;

static void product(void *arg, const double *vector, double *ret) {
        Diagonal *d = arg;

        d->n_products++;
        for (size_t i = 0; i < N; i++)
                ret[i] = d->values[i] * vector[i];
}

static int run(Diagonal *d, uint32_t steps, double start, double *ret_min, double *ret_max) {
        Lanczos *l;
        int r;

        g_assert_cmpint(lanczos_new(N, steps, &l), ==, 0);
        for (size_t i = 0; i < N; i++)
                l->basis[i] = i % 3 == 0 ? start : -start;
        r = lanczos_extremes(l, product, d, ret_min, ret_max);
        lanczos_free(l);
        return r;
}

/* A spectrum like a network's: almost all eigenvalues are near 0, and a few are far away on both sides. */
static void test_outliers(void) {
        double min, max;
        Diagonal d = {};

        for (size_t i = 0; i < N; i++)
                d.values[i] = 0.1 * sin((double) i);
        d.values[17] = 4;
        d.values[18] = 2;
        d.values[19] = -1.5;
        g_assert_cmpint(run(&d, 20, 1, &min, &max), ==, 20);
        g_assert_cmpuint(d.n_products, ==, 20);
        g_assert_cmpfloat_with_epsilon(max, 4, 1e-9);
        g_assert_cmpfloat_with_epsilon(min, -1.5, 1e-9);
}

/* The hardest matrix: N eigenvalues at equal distances. Because every new vector is made orthogonal to all
 * earlier ones, N steps find both ends exactly. */
static void test_exact(void) {
        double min, max;
        Diagonal d = {};

        for (size_t i = 0; i < N; i++)
                d.values[i] = (double) i - 100;
        g_assert_cmpint(run(&d, N, 1, &min, &max), >, 0);
        g_assert_cmpfloat_with_epsilon(min, -100, 1e-8);
        g_assert_cmpfloat_with_epsilon(max, N - 101, 1e-8);
}

/* The iteration ends after as many steps as there are different eigenvalues. */
static void test_breakdown(void) {
        static const double values[] = { 1e-3, -2e-3, 5e-4, 5e-4, 5e-4 };
        double min, max;
        Diagonal d = {};

        for (size_t i = 0; i < N; i++)
                d.values[i] = values[i % G_N_ELEMENTS(values)];
        g_assert_cmpint(run(&d, 50, 1, &min, &max), ==, 3);
        g_assert_cmpfloat_with_epsilon(max, 1e-3, 1e-15);
        g_assert_cmpfloat_with_epsilon(min, -2e-3, 1e-15);
}

static void test_zero(void) {
        double min, max;
        Diagonal d = {};

        g_assert_cmpint(run(&d, 50, 1, &min, &max), ==, 1);
        g_assert_cmpfloat(min, ==, 0);
        g_assert_cmpfloat(max, ==, 0);
}

/* The smallest numbers there are: their squares are 0, so Lanczos ends after one step. The bisection for the
 * one eigenvalue must end although its precision would round to 0. */
static void test_tiny(void) {
        const double unit = 1e-312, mean = unit * (N + 1) / 2;
        double min, max;
        Diagonal d = {};

        g_assert_cmpfloat(DBL_EPSILON * mean, ==, 0);
        for (size_t i = 0; i < N; i++)
                d.values[i] = unit * (double) (i + 1);
        g_assert_cmpint(run(&d, 50, 1, &min, &max), ==, 1);
        g_assert_cmpfloat_with_epsilon(min, mean, 1e-6 * mean);
        g_assert_cmpfloat_with_epsilon(max, mean, 1e-6 * mean);
}

static void test_refused(void) {
        double min = 7, max = 8;
        Diagonal d = {};

        g_assert_cmpint(run(&d, 5, 0, &min, &max), ==, -ERANGE);
        d.values[9] = NAN;
        g_assert_cmpint(run(&d, 5, 1, &min, &max), ==, -ERANGE);
        d.values[9] = INFINITY;
        g_assert_cmpint(run(&d, 5, 1, &min, &max), ==, -ERANGE);
        g_assert_cmpfloat(min, ==, 7);
        g_assert_cmpfloat(max, ==, 8);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/lanczos/outliers", test_outliers);
        g_test_add_func("/lanczos/exact", test_exact);
        g_test_add_func("/lanczos/breakdown", test_breakdown);
        g_test_add_func("/lanczos/zero", test_zero);
        g_test_add_func("/lanczos/tiny", test_tiny);
        g_test_add_func("/lanczos/refused", test_refused);
        return g_test_run();
}
