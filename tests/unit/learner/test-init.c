/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The initial parameters equal those that plain Gram-Schmidt loops give, bit for bit, with any number of
 * threads. */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "learner/init.h"
#include "lib/rng.h"

enum { PARAMETERS_MAX = 16384 };

static const JobSettings settings = { .seed = 5, .orthogonal_init = 1 };

/* The plain reference: subtracts from each row its parts along all earlier rows, twice. */
static void plain(double *x, size_t rows, size_t n) {
        for (size_t i = 0; i < rows; i++) {
                double *a = x + i * n, sum = 0.0;

                for (size_t j = 0; j < 2 * i; j++) {
                        const double *b = x + j % i * n;
                        double projection = 0.0;

                        for (size_t k = 0; k < n; k++)
                                projection += a[k] * b[k];
                        for (size_t k = 0; k < n; k++)
                                a[k] -= projection * b[k];
                }
                for (size_t k = 0; k < n; k++)
                        sum += a[k] * a[k];
                for (size_t k = 0; k < n; k++)
                        a[k] /= sqrt(sum);
        }
}

static Network network_of(uint32_t n_out, uint32_t n_in) {
        Network network = { .n_layers = 3 };
        uint64_t at = 0;

        for (unsigned i = 0; i < 3; i++) {
                network.layers[i] = (Layer){ .kind = LAYER_DENSE,
                        .n_out = n_out,
                        .n_in = n_in,
                        .n_units = n_out,
                        .n_reads = n_in,
                        .init_gain = 1.5f,
                        .weight_at = at,
                        .bias_at = at + (uint64_t) n_out * n_in };
                at += (uint64_t) n_out * (n_in + 1);
        }
        network.n_parameters = at;
        g_assert_cmpuint(at, <=, PARAMETERS_MAX);
        return network;
}

static void check_plain(uint32_t n_out, uint32_t n_in) {
        Network network = network_of(n_out, n_in);
        size_t rows = MIN(n_out, n_in), n = MAX(n_out, n_in);
        g_autofree double *x = g_new(double, rows *n);
        g_autofree float *parameters = g_new0(float, PARAMETERS_MAX);

        g_assert_cmpint(parameters_init(&settings, &network, 0, 0, 1, parameters), ==, 0);
        for (uint32_t i = 0; i < network.n_layers; i++) {
                const Layer *l = &network.layers[i];
                ActordRandom random;

                random_begin(&random, settings.seed, RANDOM_INIT, i, 0, 0);
                for (size_t k = 0; k < rows * n; k++)
                        x[k] = actord_random_normal(&random);
                plain(x, rows, n);
                for (size_t o = 0; o < n_out; o++)
                        for (size_t k = 0; k < n_in; k++) {
                                double want = n_out <= n_in ? x[o * n + k] : x[k * n + o];

                                g_assert_true(parameters[l->weight_at + o * n_in + k] ==
                                                (float) (l->init_gain * want));
                        }
                for (size_t o = 0; o < n_out; o++)
                        g_assert_true(parameters[l->bias_at + o] == 0.0f);
        }
}

static void test_orthogonal(void) {
        check_plain(1, 7);
        check_plain(15, 15);
        check_plain(17, 40);
        check_plain(64, 64);
        check_plain(70, 33);
}

static void test_shared(void) {
        Network network = network_of(20, 30);
        g_autofree float *one = g_new0(float, PARAMETERS_MAX), *several = g_new0(float, PARAMETERS_MAX);

        g_assert_cmpint(parameters_init(&settings, &network, 0, 0, 1, one), ==, 0);
        for (uint32_t k = 4; k-- > 0;)
                g_assert_cmpint(parameters_init(&settings, &network, 0, k, 4, several), ==, 0);
        g_assert_cmpmem(one, sizeof(float[PARAMETERS_MAX]), several, sizeof(float[PARAMETERS_MAX]));
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);

        g_test_add_func("/init/orthogonal", test_orthogonal);
        g_test_add_func("/init/shared", test_shared);
        return g_test_run();
}
