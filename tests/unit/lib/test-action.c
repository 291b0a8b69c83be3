/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests policies whose actions lie within bounds. tests/unit/lib/test-forward.c tests the other kinds. */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "lib/forward.h"
#include "lib/network.h"
#include "lib/rng.h"
#include "lib/slot.h"

/* Tests three rules of deterministic actions: the network's output is scaled to the bounds; noise is scaled
 * in the same way and the sum is clamped to the bounds; before there is enough data to learn from, actions
 * are drawn uniformly. */
static void test_deterministic(void) {
        enum { N = 50000 };
        Network network = { .act = ACT_DETERMINISTIC,
                .n_action = 2,
                .action_low = -1,
                .action_high = 5,
                .action_noise = 0.1 };
        double sum = 0, squares = 0;
        unsigned n_bound = 0, n_low = 0;
        float parameters[4] = { 0.5f, 1, 0 }, action[2], log_probability;

        for (uint32_t i = 0; i < N; i++) {
                ActordRandom random;
                double z;

                random_begin(&random, 1, RANDOM_ACTION, 0, 0, i);
                action_sample(&network, parameters, false, &random, action, &log_probability);
                z = ((double) action[0] - 3.5) / 0.3;
                sum += z;
                squares += z * z;
                g_assert_true(action[1] <= 5);
                n_bound += action[1] == 5;
                g_assert_cmpfloat(log_probability, ==, 0);
        }
        g_assert_cmpfloat(fabs(sum / N), <, 5 / sqrt(N));
        g_assert_cmpfloat(fabs(squares / N - 1), <, 5 * sqrt(2.0 / N));
        g_assert_cmpfloat(fabs(n_bound - N / 2.0), <, 5 * sqrt(N / 4.0));

        action_sample(&network, parameters, true, NULL, action, NULL);
        g_assert_cmpfloat_with_epsilon((double) action[0], 3.5, 1e-6);
        g_assert_true(action[1] == 5);

        parameters[2] = 1;
        for (uint32_t i = 0; i < N; i++) {
                ActordRandom random;

                random_begin(&random, 1, RANDOM_ACTION, 0, 0, i);
                action_sample(&network, parameters, false, &random, action, NULL);
                g_assert_true(action[0] >= -1 && action[0] <= 5);
                n_low += action[0] < 0.5f;
        }
        g_assert_cmpfloat(fabs(n_low - N / 4.0), <, 5 * sqrt(N * 3.0 / 16));
        /* Evaluations take no random actions. */
        action_sample(&network, parameters, true, NULL, action, NULL);
        g_assert_true(action[1] == 5);
}

/* Tests actions that are the tanh of a normal number: the samples, the integral of the density, and one
 * value of the density. */
static void test_squashed(void) {
        enum { N = 50000 };
        Network network = { .act = ACT_SQUASHED, .n_action = 1, .action_low = -2, .action_high = 2 };
        float parameters[3] = { 0.3f, 0.2f, 0 };
        double sd = exp(-5 + 3.5 * ((double) 0.2f + 1)), total = 0;
        unsigned n_below = 0;
        float action;

        for (uint32_t i = 0; i < N; i++) {
                ActordRandom random;
                float log_probability;

                random_begin(&random, 1, RANDOM_ACTION, 0, 0, i);
                action_sample(&network, parameters, false, &random, &action, &log_probability);
                g_assert_true(action >= -2 && action <= 2 && isfinite(log_probability));
                n_below += (double) action < 2 * tanh((double) parameters[0]);
        }
        g_assert_cmpfloat(fabs(n_below - N / 2.0), <, 5 * sqrt(N / 4.0));

        for (int i = 0; i < 4000; i++) { /* the integral of the density is 1 */
                action = (float) (-2 + (i + 0.5) / 1000);
                total += exp((double) action_log_probability(&network, parameters, &action)) / 1000;
        }
        g_assert_cmpfloat_with_epsilon(total, 1, 1e-3);
        action = 1;
        g_assert_cmpfloat_with_epsilon((double) action_log_probability(&network, parameters, &action),
                        -pow((atanh(0.5) - (double) 0.3f) / sd, 2) / 2 - log(sd * sqrt(2 * M_PI)) -
                                        log(2 * 0.75),
                        1e-5);

        action_sample(&network, parameters, true, NULL, &action, NULL);
        g_assert_cmpfloat_with_epsilon((double) action, 2 * tanh((double) 0.3f), 1e-6);

        /* The probability is finite even where tanh() rounds to 1, with the largest and smallest
         * deviations. */
        for (int i = 0; i < 4; i++) {
                float far[3] = { i & 1 ? 3e4f : -3e4f, i & 2 ? 1.0f : -1.0f, 0 }, log_probability;
                ActordRandom random;

                random_begin(&random, 1, RANDOM_ACTION, 0, 0, 0);
                action_sample(&network, far, false, &random, &action, &log_probability);
                g_assert_true(action == (i & 1 ? 2.0f : -2.0f) && isfinite(log_probability));
        }
}

/* Tests a network whose deviations depend on the observation. For each row, acting computes the mean, the
 * deviation and the chance of a random action. */
static void test_squashed_network(void) {
        ActordEnvSpec spec = {
                .observation = { .kind = ACTORD_BOX, .element = ACTORD_F32, .n_dims = 1, .shape = { 2 } },
                .action = { .kind = ACTORD_BOX, .n_dims = 1, .shape = { 1 }, .low = -1, .high = 1 }
        };
        Network network = {
                .n_layers = 3,
                .act = ACT_SQUASHED,
                .n_observation = 2,
                .n_action = 1,
                .n_parameters = 8,
                .action_low = -1,
                .action_high = 1,
                .layers = { { .n_in = 2,
                                            .n_out = 1,
                                            .n_units = 1,
                                            .n_reads = 2,
                                            .weight_at = 0,
                                            .bias_at = 2 },
                                { .output = OUTPUT_ACTION,
                                                .n_in = 1,
                                                .n_out = 1,
                                                .n_units = 1,
                                                .n_reads = 1,
                                                .weight_at = 3,
                                                .bias_at = 4 },
                                { .output = OUTPUT_LOG_STD,
                                                .n_in = 1,
                                                .n_out = 1,
                                                .n_units = 1,
                                                .n_reads = 1,
                                                .weight_at = 5,
                                                .bias_at = 6 } },
        };
        static const float weights[7] = { 1, 2, 3, 10, 1, 100, 2 };
        float observation[2] = { 0.5f, 0.25f }, parameters[2][3];
        PolicyLayout layout;
        Forward *forward;
        PolicyHead *head;

        g_assert_cmpuint(network_acting_layers(&network), ==, 7);
        g_assert_cmpuint(forward_parameters(&network), ==, 3);
        g_assert_cmpint(policy_layout(&network, NULL, POLICY_BANKS, &layout), ==, 0);
        head = aligned_alloc(64, layout.bank_bytes);
        memset(head, 0, layout.bank_bytes);
        head->epsilon = 0.25;
        memcpy((uint8_t *) head + layout.parameters_at, weights, sizeof(weights));
        g_assert_cmpint(forward_new(&network, &spec, &forward), ==, 0);
        forward_load(forward, head, &layout);
        forward_rows(forward, observation, 0, 2, parameters[0]);
        for (int i = 0; i < 2; i++) {
                g_assert_cmpfloat(parameters[i][0], ==, 41);
                g_assert_cmpfloat(parameters[i][1], ==, 402);
                g_assert_cmpfloat(parameters[i][2], ==, 0.25f);
        }
        forward_free(forward);
        free(head);

        network.action_high = INFINITY;
        g_assert_cmpint(forward_new(&network, &spec, &forward), ==, -EINVAL);
        network.action_high = 1e39;
        g_assert_cmpint(forward_new(&network, &spec, &forward), ==, -EINVAL);
        network.action_high = nextafter(network.action_low, 0);
        g_assert_cmpint(forward_new(&network, &spec, &forward), ==, -EINVAL);
        network.action_high = 1;
        network.layers[2].n_out = 2;
        g_assert_cmpint(forward_new(&network, &spec, &forward), ==, -EINVAL);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/action/deterministic", test_deterministic);
        g_test_add_func("/action/squashed", test_squashed);
        g_test_add_func("/action/squashed-network", test_squashed_network);
        return g_test_run();
}
