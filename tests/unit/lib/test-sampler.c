/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests policies that act in passes: the times and coefficients of the passes, and the action that the
 * forward pass makes from noise. */
#include <glib.h>
#include <math.h>

#include "lib/forward.h"
#include "lib/rng.h"
#include "lib/sampler.h"
#include "tests/unit/gradient-reference.h"

/* At the least noise (SAMPLER_LEAST) the policy returns its input as the action, whatever the network's
 * output. */
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

/* beta_i = 1 - alpha_i of Wang et al., written independently of lib/sampler.c; left_of() is the product of
 * the alphas. */
static double beta_of(uint32_t n, uint32_t i) {
        return 1 - exp(-0.1 / n - 4.95 * (2 * i - 1) / (n * n));
}

static double left_of(uint32_t n, uint32_t i) {
        return i == 0 ? 1 : left_of(n, i - 1) * (1 - beta_of(n, i));
}

static void test_diffusion(void) {
        for (uint32_t n = 1; n <= PASSES_MAX; n++) {
                g_assert_cmpfloat_with_epsilon(diffusion_left(n, n), exp(-5.05), 1e-12);
                for (uint32_t i = 1; i <= n; i++) {
                        Moment m;

                        g_assert_cmpfloat_with_epsilon(diffusion_beta(n, i), beta_of(n, i), 1e-12);
                        g_assert_cmpfloat_with_epsilon(diffusion_left(n, i), left_of(n, i), 1e-12);
                        /* The coefficients skip and out turn a noised action and its noise back into the
                         * action. */
                        diffusion_moment(n, i, &m);
                        for (double a = -1; a <= 1; a += 0.25)
                                for (double z = -2; z <= 2; z += 0.5) {
                                        double x = (double) m.signal * a + (double) m.noise * z;

                                        g_assert_cmpfloat_with_epsilon(
                                                        (double) m.skip * x + (double) m.out * z, a, 1e-4);
                                }
                        for (uint32_t k = 0; k < TIME_EMBEDDING / 2; k++)
                                g_assert_cmpfloat_with_epsilon((double) m.embedding[k],
                                                sin((i - 1) * pow(10000, -(double) k / (TIME_EMBEDDING / 2 -
                                                                                                       1))),
                                                1e-6);
                }
        }
}

/* If there is only one action, and the network's estimate of it is exact, then the passes end at this
 * action, whatever noise they draw. */
static void test_diffusion_knows(void) {
        ActordRandom random;

        random_begin(&random, 4, RANDOM_INIT, 0, 0, 0);
        for (uint32_t n = 1; n <= PASSES_MAX; n++)
                for (double action = -0.75; action <= 0.75; action += 0.25) {
                        double x = 0;

                        for (uint32_t k = 0; k < n; k++) {
                                SamplerPass pass;
                                double left = left_of(n, n - k), said, a;

                                sampler_pass(ACT_DIFFUSION, n, k, &pass);
                                x += (double) pass.spread * actord_random_normal(&random);
                                said = (x - sqrt(left) * action) / sqrt(1 - left);
                                a = (double) pass.moment.skip * x + (double) pass.moment.out * said;
                                g_assert_cmpfloat_with_epsilon(a, action, 1e-4);
                                x = (double) pass.keep * x + (double) pass.take * a;
                        }
                        g_assert_cmpfloat_with_epsilon(x, action, 1e-4);
                }
}

enum { ROWS = 32, OBSERVATIONS = 11, ACTIONS = 3 };

/* The policy's network in double precision and in plain loops: its output for the observation, the noised
 * action x times `in`, and the embedding of a time. */
static void reference_network(const Network *network, const double *parameters, const float *observation,
                const double x[ACTIONS], double in, const float embedding[TIME_EMBEDDING],
                double ret[ACTIONS]) {
        double storage[LAYERS_MAX][32], *outputs[LAYERS_MAX];
        float input[OBSERVATIONS + ACTIONS + TIME_EMBEDDING];

        for (unsigned i = 0; i < LAYERS_MAX; i++)
                outputs[i] = storage[i];
        memcpy(input, observation, OBSERVATIONS * sizeof(float));
        for (unsigned k = 0; k < ACTIONS; k++)
                input[OBSERVATIONS + k] = (float) (in * x[k]);
        memcpy(input + OBSERVATIONS + ACTIONS, embedding, TIME_EMBEDDING * sizeof(float));
        reference_forward(network, parameters, input, outputs);
        memcpy(ret, outputs[network_find(network, OUTPUT_ACTION)], ACTIONS * sizeof(double));
}

/* Algorithm 2 of Ho et al. with the noise levels of Wang et al. Two changes: the estimate of the action is
 * clipped, and the last step adds no noise. */
static void reference_diffusion(const Network *network, const double *parameters, const float *observation,
                ActordRandom random, double x[ACTIONS]) {
        uint32_t n = network->passes;
        double sd = 1;

        memset(x, 0, ACTIONS * sizeof(double));
        for (uint32_t i = n; i >= 1; i--) {
                double left = left_of(n, i), before = left_of(n, i - 1), beta = beta_of(n, i), f[ACTIONS];
                Moment m;

                diffusion_moment(n, i, &m);
                for (unsigned k = 0; k < ACTIONS; k++)
                        x[k] += sd * actord_random_normal(&random);
                reference_network(network, parameters, observation, x, 1, m.embedding, f);
                for (unsigned k = 0; k < ACTIONS; k++) {
                        double a = CLAMP((x[k] - sqrt(1 - left) * f[k]) / sqrt(left), -1, 1);

                        x[k] = sqrt(before) * beta / (1 - left) * a +
                               sqrt(1 - beta) * (1 - before) / (1 - left) * x[k];
                }
                sd = sqrt(beta * (1 - before) / (1 - left));
        }
}

static void reference_consistency(const Network *network, const double *parameters, const float *observation,
                ActordRandom random, double ret[ACTIONS]) {
        for (uint32_t pass = 0; pass < network->passes; pass++) {
                double time = sampler_time(network->passes, pass), x[ACTIONS], f[ACTIONS];
                Moment m;

                moment_of(time, &m);
                for (unsigned k = 0; k < ACTIONS; k++)
                        x[k] = actord_random_normal(&random) * (pass == 0 ? time : sampler_spread(time)) +
                               (pass == 0 ? 0 : ret[k]);
                reference_network(network, parameters, observation, x, (double) m.in, m.embedding, f);
                for (unsigned k = 0; k < ACTIONS; k++)
                        ret[k] = CLAMP((double) m.skip * x[k] + (double) m.out * f[k], -1, 1);
        }
}

/* A row in a batch of any size, with noise of its own, gives the same bits as the row alone. */
static void check_batches(Forward *forward, float rows[ROWS][OBSERVATIONS], float alone[ROWS][2 * ACTIONS]) {
        for (size_t n = 1; n <= FORWARD_ROWS_MAX; n++)
                for (size_t i = 0; i + n <= ROWS; i += n) {
                        float got[FORWARD_ROWS_MAX][2 * ACTIONS] = {};

                        for (size_t k = 0; k < n; k++) {
                                ActordRandom noise;

                                random_begin(&noise, 4, RANDOM_ACTION, (uint32_t) (i + k), 0, 0);
                                forward_draw(forward, k, &noise);
                        }
                        forward_rows(forward, rows[i], sizeof(rows[i]), n, got[0]);
                        g_assert_cmpmem(got, n * sizeof(got[0]), alone[i], n * sizeof(alone[i]));
                }
}

static void check_passes(const char *algorithm, uint32_t passes) {
        g_autofree char *sections = g_strdup_printf("Algorithm=%s\n[Learner]\nDataset=a.hdf5\n"
                                                    "HiddenLayers=24 16\nActivation=mish\nPasses=%u\n",
                        algorithm, passes);
        bool diffuses = g_str_equal(algorithm, "diffusion-ql");
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
                (diffuses ? reference_diffusion : reference_consistency)(
                                &bed.page.network, parameters, rows[i], noise, expected);
                forward_draw(forward, 0, &noise);
                forward_row(forward, rows[i], alone[i]);
                for (unsigned k = 0; k < ACTIONS; k++)
                        g_assert_cmpfloat_with_epsilon((double) alone[i][k], expected[k], 1e-4);
        }
        check_batches(forward, rows, alone);
        (void) forward_free(forward);
        bed_close(&bed);
}

static void test_passes(void) {
        for (uint32_t passes = 1; passes <= PASSES_MAX; passes++)
                for (int i = 0; i < 2; i++)
                        check_passes(i == 0 ? "consistency" : "diffusion-ql", passes);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/sampler/boundary", test_boundary);
        g_test_add_func("/sampler/moment", test_moment);
        g_test_add_func("/sampler/times", test_times);
        g_test_add_func("/sampler/diffusion", test_diffusion);
        g_test_add_func("/sampler/diffusion-knows", test_diffusion_knows);
        g_test_add_func("/sampler/passes", test_passes);
        return g_test_run();
}
