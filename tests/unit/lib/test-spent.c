/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compares the operations that are counted from shapes with sums that were done by hand. */
#include <glib.h>

#include "include/settings.h"
#include "lib/network.h"
#include "lib/spent.h"

static Network network_make(const JobSettings *settings, const ActordEnvSpec *spec) {
        Network network;

        g_assert_cmpint(network_derive(settings, spec, &network), ==, 0);
        return network;
}

/* The environment has six numbers and five choices. Policy and value have a network each, of 64 and 32
 * units. */
static void test_dense(void) {
        JobSettings settings = { .hidden_layers = { 2, { 64, 32 } } };
        ActordEnvSpec spec = {
                .observation = { .kind = ACTORD_BOX, .element = ACTORD_F32, .n_dims = 1, .shape = { 6 } },
                .action = { .kind = ACTORD_DISCRETE, .element = ACTORD_I32, .n_choices = 5 },
        };
        uint64_t first = 6 * 64, policy = 64 * 32 + 32 * 5, value = 64 * 32 + 32;
        Network network = network_make(&settings, &spec);

        g_assert_cmpuint(network_acting_operations(&network, NULL), ==, 2 * (first + policy));
        g_assert_cmpuint(network_forward_operations(&network), ==, 2 * (2 * first + policy + value));
        g_assert_cmpuint(network_gradient_operations(&network), ==,
                        2 * (2 * 2 * first + 3 * (policy + value)));

        settings.shared_network = true;
        network = network_make(&settings, &spec);
        g_assert_cmpuint(network_acting_operations(&network, NULL), ==, 2 * (first + policy));
        g_assert_cmpuint(network_forward_operations(&network), ==, 2 * (first + policy + 32));
        g_assert_cmpuint(network_gradient_operations(&network), ==, 2 * (2 * first + 3 * (policy + 32)));
}

/* Images of 3 x 12 x 12. The convolution's kernel of 4 x 4 with stride 2 fits into 5 x 5 places. */
static void test_convolution(void) {
        JobSettings settings = {
                .hidden_layers = { 1, { 16 } },
                .convolutions = { .n = 1, .layers = { { .channels = 8, .kernel = 4, .stride = 2 } } },
                .shared_network = true,
        };
        ActordEnvSpec spec = {
                .observation = { .kind = ACTORD_BOX,
                                .element = ACTORD_U8,
                                .n_dims = 3,
                                .shape = { 3, 12, 12 } },
                .action = { .kind = ACTORD_DISCRETE, .element = ACTORD_I32, .n_choices = 5 },
        };
        uint64_t squares = 5 * 5 * 8 * 3 * 4 * 4, dense = 5 * 5 * 8 * 16, heads = 16 * 5 + 16;
        Network network = network_make(&settings, &spec);

        g_assert_cmpuint(network_forward_operations(&network), ==, 2 * (squares + dense + heads));
        g_assert_cmpuint(network_gradient_operations(&network), ==, 2 * (2 * squares + 3 * (dense + heads)));
}

/* A policy of two passes, with one candidate or five, each of which two critics judge. */
static void test_candidates(void) {
        ActordEnvSpec spec = {
                .observation = { .kind = ACTORD_BOX, .element = ACTORD_F32, .n_dims = 1, .shape = { 6 } },
                .action = { .kind = ACTORD_BOX,
                                .element = ACTORD_F32,
                                .n_dims = 1,
                                .shape = { 2 },
                                .low = -1,
                                .high = 1 },
        };
        uint64_t pass = (6 + 2 + TIME_EMBEDDING) * 16 + 16 * 2, critic = (6 + 2) * 16 + 16;

        for (uint32_t n = 1; n <= 5; n += 4) {
                JobSettings settings = {
                        .algorithm = ALGORITHM_CONSISTENCY, .hidden_layers = { 1, { 16 } }, .candidates = n
                };
                Network network = network_make(&settings, &spec), judge;

                g_assert_cmpint(network_derive_judge(&settings, &network, &judge), ==, 0);
                g_assert_cmpuint(network_acting_operations(&network, &judge), ==,
                                n == 1 ? 2 * 2 * pass : n * 2 * (2 * pass + 2 * critic));
        }
}

static void test_off(void) {
        g_assert_cmpuint(spent_begin(NULL), ==, 0);
        spent_end(NULL, PROFILE_apply, 0);
        spent_count(NULL, PRODUCT_forward, 1, 1);
}

static void test_add(void) {
        Spent sum = { .busy_nsec = 1 }, one = { .busy_nsec = 10 };

        spent_count(&one, PRODUCT_gradient, 3, 100);
        one.rates[PRODUCT_gradient].core_nsec = 7;
        one.nsec[PROFILE_rest] = 4;
        spent_add(&sum, &one);
        spent_add(&sum, &one);
        g_assert_cmpuint(sum.busy_nsec, ==, 21);
        g_assert_cmpuint(sum.nsec[PROFILE_rest], ==, 8);
        g_assert_cmpuint(sum.rates[PRODUCT_gradient].operations, ==, 600);
        g_assert_cmpuint(sum.rates[PRODUCT_gradient].core_nsec, ==, 14);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/spent/dense", test_dense);
        g_test_add_func("/spent/convolution", test_convolution);
        g_test_add_func("/spent/candidates", test_candidates);
        g_test_add_func("/spent/off", test_off);
        g_test_add_func("/spent/add", test_add);
        return g_test_run();
}
