/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A policy that acts by passes: its times and coefficients, and what the forward pass makes of noise. */
#include <glib.h>
#include <math.h>

#include "lib/forward.h"
#include "lib/rng.h"
#include "lib/sampler.h"
#include "tests/unit/gradient-reference.h"

/* f(s, x, epsilon) = x, whatever the network says. */
static void test_boundary(void) {
        Moment m;

        moment_of(SAMPLER_LEAST, &m);
        for (double x = -3; x <= 3; x += 0.25)
                for (double f = -100; f <= 100; f += 25)
                        g_assert_cmpfloat_with_epsilon((double) m.skip * x + (double) m.out * f, x, 1e-6);
}

static void test_moment(void) {
        const double times[] = { SAMPLER_LEAST, 0.1, 2, SAMPLER_MOST };
        Moment m;

        for (size_t i = 0; i < G_N_ELEMENTS(times); i++) {
                double t = times[i], past = t - SAMPLER_LEAST;

                moment_of(t, &m);
                g_assert_cmpfloat_with_epsilon((double) m.skip, 0.25 / (past * past + 0.25), 1e-7);
                g_assert_cmpfloat_with_epsilon((double) m.out, 0.5 * past / sqrt(t * t + 0.25), 1e-7);
                g_assert_cmpfloat_with_epsilon((double) m.in, 1 / sqrt(t * t + 0.25), 1e-7);
                for (uint32_t k = 0; k < TIME_EMBEDDING / 2; k++) {
                        double x = 250 * log(t) * pow(10000, -(double) k / (TIME_EMBEDDING / 2 - 1));

                        g_assert_cmpfloat_with_epsilon((double) m.embedding[k], sin(x), 1e-6);
                        g_assert_cmpfloat_with_epsilon(
                                        (double) m.embedding[TIME_EMBEDDING / 2 + k], cos(x), 1e-6);
                }
        }
}

static void test_times(void) {
        g_assert_cmpfloat(sampler_time(1, 0), ==, 80);
        g_assert_cmpfloat(sampler_time(2, 1), ==, 2);
        g_assert_cmpfloat(sampler_time(3, 1), ==, 41);
        g_assert_cmpfloat(sampler_time(5, 4), ==, 2);
        g_assert_cmpfloat_with_epsilon(sampler_spread(2), sqrt(4 - 4e-6), 1e-12);

        g_assert_cmpuint(sampler_boundaries(0), ==, 2);
        g_assert_cmpuint(sampler_boundaries(1), ==, 150);
        g_assert_cmpuint(sampler_boundaries(2), ==, 150);
        g_assert_cmpfloat(sampler_boundary(150, 0), ==, SAMPLER_LEAST);
        g_assert_cmpfloat_with_epsilon(sampler_boundary(150, 149), SAMPLER_MOST, 1e-10);
        for (uint32_t k = 1; k < 150; k++)
                g_assert_cmpfloat(sampler_boundary(150, k), >, sampler_boundary(150, k - 1));
}

enum { ROWS = 32, OBSERVATIONS = 11, ACTIONS = 3 };

/* The same in double precision, in plain loops. */
static void reference_passes(const Network *network, const double *parameters, const float *observation,
                ActordRandom random, double ret[ACTIONS]) {
        double storage[LAYERS_MAX][32], *outputs[LAYERS_MAX];
        float input[OBSERVATIONS + ACTIONS + TIME_EMBEDDING];

        for (unsigned i = 0; i < LAYERS_MAX; i++)
                outputs[i] = storage[i];
        memcpy(input, observation, OBSERVATIONS * sizeof(float));
        for (uint32_t pass = 0; pass < network->passes; pass++) {
                double time = sampler_time(network->passes, pass), x[ACTIONS];
                Moment m;

                moment_of(time, &m);
                for (unsigned k = 0; k < ACTIONS; k++) {
                        x[k] = actord_random_normal(&random) * (pass == 0 ? time : sampler_spread(time)) +
                               (pass == 0 ? 0 : ret[k]);
                        input[OBSERVATIONS + k] = (float) ((double) m.in * x[k]);
                }
                memcpy(input + OBSERVATIONS + ACTIONS, m.embedding, sizeof(m.embedding));
                reference_forward(network, parameters, input, outputs);
                for (unsigned k = 0; k < ACTIONS; k++)
                        ret[k] = CLAMP((double) m.skip * x[k] +
                                                        (double) m.out * outputs[network_find(network,
                                                                                         OUTPUT_ACTION)][k],
                                        -1, 1);
        }
}

/* Each row of a batch, with noise of its own, is the row alone. */
static void check_batches(Forward *forward, float rows[ROWS][OBSERVATIONS], float alone[ROWS][2 * ACTIONS]) {
        for (size_t n = 1; n <= FORWARD_ROWS_MAX; n++)
                for (size_t i = 0; i + n <= ROWS; i += n) {
                        float got[FORWARD_ROWS_MAX][2 * ACTIONS] = {};

                        for (size_t k = 0; k < n; k++) {
                                ActordRandom noise;

                                random_begin(&noise, 4, RANDOM_ACTION, (uint32_t) (i + k), 0, 0);
                                forward_draw(forward, k, &noise);
                        }
                        forward_rows(forward, rows[i], sizeof(rows[i]), n, got[0], NULL);
                        g_assert_cmpmem(got, n * sizeof(got[0]), alone[i], n * sizeof(alone[i]));
                }
}

static void check_passes(uint32_t passes) {
        g_autofree char *sections = g_strdup_printf("Algorithm=consistency\n[Learner]\nDataset=a.hdf5\n"
                                                    "HiddenLayers=24 16\nActivation=mish\nPasses=%u\n",
                        passes);
        ActordEnvSpec spec = bed_spec_box(OBSERVATIONS, ACTIONS, 0);
        float rows[ROWS][OBSERVATIONS], alone[ROWS][2 * ACTIONS] = {};
        g_autofree double *parameters = NULL;
        ActordRandom random;
        Forward *forward;
        const float *at;
        Bed bed = {};

        bed_start(&bed, sections, &spec);
        g_assert_cmpuint(bed.page.network.passes, ==, passes);
        at = policy_numbers(policy_bank(bed.policy, &bed.page.policy, 0), bed.page.policy.parameters_at);
        parameters = g_new(double, bed.page.network.n_parameters);
        for (uint64_t i = 0; i < bed.page.network.n_parameters; i++)
                parameters[i] = (double) at[i];
        g_assert_cmpint(forward_new(&bed.page.network, &spec, &forward), ==, 0);
        forward_load(forward, policy_bank(bed.policy, &bed.page.policy, 0), &bed.page.policy);

        random_begin(&random, 4, RANDOM_INIT, 0, 0, 0);
        for (uint32_t i = 0; i < ROWS; i++) {
                double expected[ACTIONS];
                ActordRandom noise;

                for (unsigned k = 0; k < OBSERVATIONS; k++)
                        rows[i][k] = (float) actord_random_normal(&random);
                random_begin(&noise, 4, RANDOM_ACTION, i, 0, 0);
                reference_passes(&bed.page.network, parameters, rows[i], noise, expected);
                forward_draw(forward, 0, &noise);
                forward_row(forward, rows[i], alone[i], NULL);
                for (unsigned k = 0; k < ACTIONS; k++)
                        g_assert_cmpfloat_with_epsilon((double) alone[i][k], expected[k], 1e-4);
        }
        check_batches(forward, rows, alone);
        (void) forward_free(forward);
        bed_close(&bed);
}

static void test_passes(void) {
        for (uint32_t passes = 1; passes <= PASSES_MAX; passes++)
                check_passes(passes);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/sampler/boundary", test_boundary);
        g_test_add_func("/sampler/moment", test_moment);
        g_test_add_func("/sampler/times", test_times);
        g_test_add_func("/sampler/passes", test_passes);
        return g_test_run();
}
