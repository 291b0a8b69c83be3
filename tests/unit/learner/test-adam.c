/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Adam against numbers worked out by hand, and against itself in double precision. */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "learner/adam.h"

/* If the gradient g is constant, the corrected moments are g and g^2, so each step is
 * rate * g / (|g| + epsilon). */
static void test_constant(void) {
        float gradient[3] = { 0.1f, -2.0f, 0.0f };
        Adam *adam;

        g_assert_cmpint(adam_new(3, &adam), ==, 0);
        for (int t = 1; t <= 100; t++) {
                AdamScalars scalars = adam_begin(adam, 1e-2, 0.9, 0.999, 1e-5, 1.0);

                adam_apply(adam, &scalars, gradient, 0, 3);
                g_assert_cmpfloat_with_epsilon(
                                (double) adam->parameters[0], -1e-2 * t * 0.1 / (0.1 + 1e-5), 2e-6 * t);
                g_assert_cmpfloat_with_epsilon(
                                (double) adam->parameters[1], 1e-2 * t * 2.0 / (2.0 + 1e-5), 2e-6 * t);
                g_assert_cmpfloat(adam->parameters[2], ==, 0);
        }
        g_assert_cmpuint(adam->step, ==, 100);
        adam_free(adam);
}

/* Two steps worked out on paper, for the gradients 1 and -1, rate 0.1, beta 0.9 and 0.999, without epsilon.
 * The first moment m is 0.1, then -0.01, which is divided by 1 - 0.81. The second moment v is 0.001, then
 * 0.001999, which is divided by 1 - 0.998001 = 0.001999 and so becomes 1. */
static void test_paper(void) {
        Adam *adam;

        g_assert_cmpint(adam_new(1, &adam), ==, 0);
        for (int t = 0; t < 2; t++) {
                float g = t == 0 ? 1.0f : -1.0f;
                AdamScalars scalars = adam_begin(adam, 0.1, 0.9, 0.999, 0, 1.0);

                adam_apply(adam, &scalars, &g, 0, 1);
        }
        g_assert_cmpfloat_with_epsilon((double) adam->parameters[0], -0.1 + 0.1 * 0.01 / 0.19, 1e-7);
        adam_free(adam);
}

static void test_double(void) {
        enum { N = 133 };
        g_autoptr(GRand) rand = g_rand_new_with_seed(6);
        float p[N] = {}, m[N] = {}, v[N] = {}, g[N];
        Adam *adam;

        g_assert_cmpint(adam_new(N, &adam), ==, 0);
        for (int t = 0; t < 300; t++) {
                AdamScalars scalars = adam_begin(adam, 3e-4, 0.9, 0.999, 1e-5, 0.5);

                for (int i = 0; i < N; i++)
                        g[i] = (float) (g_rand_double_range(rand, -1, 1) * pow(10, i % 7 - 4));
                adam_apply(adam, &scalars, g, 0, 64);
                adam_apply(adam, &scalars, g, 64, N - 64);
                naive_adam(p, m, v, g, N, &scalars);
        }
        for (int i = 0; i < N; i++)
                g_assert_cmpfloat_with_epsilon((double) adam->parameters[i], (double) p[i], 1e-6);
        adam_free(adam);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/adam/constant", test_constant);
        g_test_add_func("/adam/paper", test_paper);
        g_test_add_func("/adam/double", test_double);
        return g_test_run();
}
