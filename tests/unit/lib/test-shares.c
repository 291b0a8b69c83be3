/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a job that trades CPU weight sees and does, and how the kernel divides CPUs by weight. */
#include <glib.h>
#include <math.h>

#include "lib/shares.h"

#define assert_close(a, b) g_assert_cmpfloat(fabs((double) (a) - (double) (b)), <, 1e-6)

static void test_divide(void) {
        double weights[] = { 100, 300, 100 }, demands[] = { 8, 8, 1 }, cpus[3];

        shares_divide(9, 3, weights, demands, cpus);
        assert_close(cpus[2], 1); /* it could have 1.8 by its weight; the others get the 0.8 */
        assert_close(cpus[0], 2);
        assert_close(cpus[1], 6);

        shares_divide(100, 3, weights, demands, cpus);
        for (int i = 0; i < 3; i++)
                assert_close(cpus[i], demands[i]);

        demands[1] = 0;
        shares_divide(4, 3, weights, demands, cpus);
        assert_close(cpus[1], 0);
        assert_close(cpus[0], 3);
        assert_close(cpus[2], 1);
}

/* Whatever the weights and demands are, jobs get all CPUs that they want, up to those of the host. */
static void test_divide_conserves(void) {
        for (int i = 0; i < 2000; i++) {
                double weights[8], demands[8], cpus[8], cores = g_test_rand_double_range(0.5, 20);
                double wanted = 0, given = 0;

                for (int k = 0; k < 8; k++) {
                        weights[k] = g_test_rand_double_range(10, 1000);
                        demands[k] = g_test_rand_int_range(0, 5);
                        wanted += demands[k];
                }
                shares_divide(cores, 8, weights, demands, cpus);
                for (int k = 0; k < 8; k++) {
                        g_assert_cmpfloat(cpus[k], >=, 0);
                        g_assert_cmpfloat(cpus[k], <=, demands[k]);
                        given += cpus[k];
                }
                assert_close(given, MIN(cores, wanted));
        }
}

static void test_features(void) {
        SharesJob job = {
                .time_left = 0.25, .work_left = 0.5, .needed = 3, .got = 1, .demand = 2, .weight = 100
        };
        float x[SHARES_N_FEATURES];

        shares_features(&job, 8, 16, x);
        assert_close(x[SHARES_TIME_LEFT], 0.25);
        assert_close(x[SHARES_WORK_LEFT], 0.5);
        assert_close(x[SHARES_PACE], 0.75);
        assert_close(x[SHARES_WEIGHT], 0.5); /* 100 is halfway from 10 to 1000 in logarithms */
        assert_close(x[SHARES_DEMAND], 0.25);
        assert_close(x[SHARES_CROWD], 0.5);

        shares_features(&job, 16, 16, x);
        assert_close(x[SHARES_CROWD], 0);
}

/* All features stay between 0 and 1, whatever a clock or a record says. */
static void test_features_bounds(void) {
        static const double odd[] = { -1, 0, 0.5, 1, 7, 1e300, INFINITY, -INFINITY, NAN };
        float x[SHARES_N_FEATURES];

        for (size_t i = 0; i < G_N_ELEMENTS(odd); i++)
                for (size_t k = 0; k < G_N_ELEMENTS(odd); k++) {
                        SharesJob job = { odd[i], odd[k], odd[k], odd[i], odd[i], (uint32_t) (i * 3000), 0 };

                        shares_features(&job, 2, odd[k], x);
                        for (int f = 0; f < SHARES_N_FEATURES; f++)
                                g_assert_true(x[f] >= 0 && x[f] <= 1);
                }
}

static void test_pace(void) {
        SharesJob job = { .weight = 100 };
        float x[SHARES_N_FEATURES];

        shares_features(&job, 2, 0, x);
        g_assert_cmpfloat((double) x[SHARES_PACE], ==, 0); /* it has no deadline */
        job.needed = 1;
        shares_features(&job, 2, 0, x);
        g_assert_cmpfloat((double) x[SHARES_PACE], ==, 1); /* nothing is done yet */
        job.got = 1;
        shares_features(&job, 2, 0, x);
        assert_close(x[SHARES_PACE], 0.5);
        job.needed = INFINITY; /* its deadline has passed */
        shares_features(&job, 2, 0, x);
        g_assert_cmpfloat((double) x[SHARES_PACE], ==, 1);
}

static void test_move(void) {
        uint32_t weight = SHARES_WEIGHT_DEFAULT;

        g_assert_cmpuint(shares_move(weight, SHARES_SAME), ==, weight);
        g_assert_cmpuint(shares_move(weight, SHARES_UP), ==, 150);
        g_assert_cmpuint(shares_move(weight, SHARES_DOWN), ==, 67);
        for (int i = 0; i < 20; i++)
                weight = shares_move(weight, SHARES_UP);
        g_assert_cmpuint(weight, ==, SHARES_WEIGHT_MAX);
        for (int i = 0; i < 40; i++)
                weight = shares_move(weight, SHARES_DOWN);
        g_assert_cmpuint(weight, ==, SHARES_WEIGHT_MIN);
}

static void test_smooth(void) {
        double speed = shares_smooth(-1, 2);

        g_assert_cmpfloat(speed, ==, 2);
        for (int i = 0; i < 100; i++)
                /* only every second step sees the end of a round */
                speed = shares_smooth(speed, i % 2 ? 0 : 8);
        g_assert_cmpfloat(speed, >, 3);
        g_assert_cmpfloat(speed, <, 5);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);

        g_test_add_func("/shares/divide", test_divide);
        g_test_add_func("/shares/divide-conserves", test_divide_conserves);
        g_test_add_func("/shares/features", test_features);
        g_test_add_func("/shares/features-bounds", test_features_bounds);
        g_test_add_func("/shares/pace", test_pace);
        g_test_add_func("/shares/move", test_move);
        g_test_add_func("/shares/smooth", test_smooth);

        return g_test_run();
}
