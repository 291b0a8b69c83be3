/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <glib.h>
#include <math.h>

#include "actorctl/experiment/statistics.h"

static void test_interquartile(void) {
        static const double values[] = { 100, 1, 2, 3, 4, 5, 6, -100 };

        g_assert_cmpfloat(interquartile_mean(values, 8), ==, 3.5); /* 2 3 4 5 */
        g_assert_cmpfloat(interquartile_mean(values, 7), ==, (2 + 3 + 4 + 5 + 6) / 5.0);
        g_assert_cmpfloat(interquartile_mean(values, 3), ==, 103 / 3.0);
        g_assert_cmpfloat(interquartile_mean(values, 1), ==, 100);
        g_assert_true(isnan(interquartile_mean(values, 0)));
        g_assert_cmpfloat(quantile(values, 8, 0), ==, -100);
        g_assert_cmpfloat(quantile(values, 8, 0.5), ==, 3.5);
        g_assert_cmpfloat(quantile(values, 8, 1), ==, 100);
}

/* A bootstrap interval agrees with the theory of the trimmed mean of uniform samples. Equal values have an
 * interval of length zero. The interval of paired differences does not contain the spread that both samples
 * share. */
static void test_bootstrap(void) {
        enum { N = 400 };
        double values[N], others[N], equal[4] = { 2, 2, 2, 2 };
        Interval one, again, pair;

        for (int i = 0; i < N; i++) {
                /* Two evenly spaced samples. The differences of their pairs take two values. */
                values[i] = (i + 0.5) / N;
                others[i] = values[i] - 0.25 + 0.01 * ((i * 7) % 2);
        }
        one = bootstrap_interval(values, N);
        again = bootstrap_interval(values, N);
        g_assert_cmpmem(&one, sizeof(one), &again, sizeof(again));
        /* Variance of the 25 % trimmed mean of U(0, 1): Tukey and McLaughlin's formula with winsorised
         * variance 1/24 gives a standard error of sqrt(1/24) / (0.5 sqrt(N)) = 0.0204. */
        g_assert_cmpfloat_with_epsilon((one.low + one.high) / 2, 0.5, 0.003);
        g_assert_cmpfloat_with_epsilon(one.high - one.low, 2 * 1.96 * 0.0204, 0.004);
        pair = bootstrap_paired(values, others, N);
        g_assert_cmpfloat(pair.low, >, 0.24);
        g_assert_cmpfloat(pair.high, <, 0.26);
        one = bootstrap_interval(equal, 4);
        g_assert_cmpfloat(one.low, ==, 2);
        g_assert_cmpfloat(one.high, ==, 2);
        g_assert_true(isnan(bootstrap_interval(values, 1).low));
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/statistics/interquartile", test_interquartile);
        g_test_add_func("/statistics/bootstrap", test_bootstrap);
        return g_test_run();
}
