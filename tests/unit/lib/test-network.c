/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests the table of a network's tensors, their names, shapes and places, for each kind of policy. */
#include <errno.h>
#include <glib.h>
#include <math.h>
#include <string.h>

#include "lib/forward.h"
#include "lib/network.h"

static JobSettings settings_make(void) {
        return (JobSettings){ .hidden_layers = { 2, { 64, 32 } }, .activation = ACTIVATION_TANH };
}

static ActordEnvSpec spec_make(bool continuous) {
        ActordSpace choice = { .kind = ACTORD_DISCRETE, .element = ACTORD_I32, .n_choices = 5 };
        ActordSpace box = { .kind = ACTORD_BOX, .element = ACTORD_F32, .n_dims = 2, .shape = { 3, 2 } };

        return (ActordEnvSpec){ .observation = box, .action = continuous ? box : choice };
}

/* Prints "name n_in>n_out input" for each layer. input: the number of the layer that it reads; ^: it reads
 * the observation. */
static char *network_to_string(const Network *network) {
        GString *s = g_string_new(NULL);

        for (uint32_t i = 0; i < network->n_layers; i++) {
                const Layer *l = &network->layers[i];

                if (l->kind == LAYER_PARAMETER)
                        g_string_append_printf(s, "%s[%u] ", l->name, l->n_out);
                else if (l->kind == LAYER_CONVOLUTION)
                        g_string_append_printf(s, "%s %ux%ux%u>%ux%ux%u ", l->name, l->convolution.channels,
                                        l->convolution.height, l->convolution.width, l->n_units,
                                        l->convolution.out_height, l->convolution.out_width);
                else if (l->input == i)
                        g_string_append_printf(s, "%s %u>%u ^ ", l->name, l->n_in, l->n_out);
                else
                        g_string_append_printf(s, "%s %u>%u %u ", l->name, l->n_in, l->n_out, l->input);
        }
        return g_string_free(s, FALSE);
}

static void check(bool continuous, bool shared, const char *expected) {
        ActordEnvSpec spec = spec_make(continuous);
        JobSettings settings = settings_make();
        g_autofree char *got = NULL;
        uint64_t at = 0;
        Network network;

        settings.shared_network = shared;
        g_assert_cmpint(network_derive(&settings, &spec, &network), ==, 0);
        got = network_to_string(&network);
        g_assert_cmpstr(got, ==, expected);

        /* Parameters lie one after the other without holes. */
        for (uint32_t i = 0; i < network.n_layers; i++) {
                const Layer *l = &network.layers[i];

                g_assert_cmpuint(l->weight_at, ==, at);
                g_assert_cmpuint(l->bias_at, ==, at + (uint64_t) l->n_in * l->n_out);
                at = l->bias_at + l->n_out;
        }
        g_assert_cmpuint(network.n_parameters, ==, at);
        g_assert_cmpuint(network.act, ==, continuous ? ACT_GAUSSIAN : ACT_CATEGORICAL);
}

static void test_shapes(void) {
        check(false, false,
                        "actor.0 6>64 ^ actor.2 64>32 0 actor.4 32>5 1 "
                        "critic.0 6>64 ^ critic.2 64>32 3 critic.4 32>1 4 ");
        check(true, false,
                        "actor_mean.0 6>64 ^ actor_mean.2 64>32 0 actor_mean.4 32>6 1 actor_logstd[6] "
                        "critic.0 6>64 ^ critic.2 64>32 4 critic.4 32>1 5 ");
        check(false, true, "network.0 6>64 ^ network.2 64>32 0 actor 32>5 1 critic 32>1 1 ");
        check(true, true,
                        "network.0 6>64 ^ network.2 64>32 0 actor_mean 32>6 1 actor_logstd[6] "
                        "critic 32>1 1 ");
}

static void test_gains_and_outputs(void) {
        ActordEnvSpec spec = spec_make(true);
        JobSettings settings = settings_make();
        Network network;

        settings.activation = ACTIVATION_RELU;
        g_assert_cmpint(network_derive(&settings, &spec, &network), ==, 0);
        g_assert_cmpfloat(network.layers[0].init_gain, ==, M_SQRT2);
        g_assert_cmpuint(network.layers[0].activation, ==, LAYER_RELU);
        g_assert_cmpfloat(network_output(&network, OUTPUT_ACTION)->init_gain, ==, 0.01);
        g_assert_cmpuint(network_output(&network, OUTPUT_ACTION)->activation, ==, LAYER_NONE);
        g_assert_cmpfloat(network_output(&network, OUTPUT_VALUE)->init_gain, ==, 1);
        g_assert_cmpstr(network_output(&network, OUTPUT_LOG_STD)->name, ==, "actor_logstd");
        g_assert_true(network_output(&network, OUTPUT_HIDDEN) == &network.layers[0]);

        spec = spec_make(false);
        g_assert_cmpint(network_derive(&settings, &spec, &network), ==, 0);
        g_assert_null(network_output(&network, OUTPUT_LOG_STD));
}

/* An action depends on three of the layers in test_shapes(): two hidden ones and that of the action. */
static void test_acting_layers(void) {
        JobSettings settings = settings_make();
        Network network;
        Layer action;

        for (unsigned kind = 0; kind < 4; kind++) {
                ActordEnvSpec spec = spec_make(kind & 1);

                settings.shared_network = kind & 2;
                g_assert_cmpint(network_derive(&settings, &spec, &network), ==, 0);
                g_assert_cmphex(network_acting_layers(&network), ==, 0x7);
        }

        /* Now the layer of the value comes before that of the action. */
        action = network.layers[2];
        network.layers[2] = network.layers[4];
        network.layers[4] = action;
        g_assert_cmphex(network_acting_layers(&network), ==, 0x13);
}

static void test_observations(void) {
        ActordEnvSpec spec = spec_make(false);
        JobSettings settings = settings_make();
        Network network;

        spec.observation = (ActordSpace){ .kind = ACTORD_DISCRETE, .element = ACTORD_I32, .n_choices = 16 };
        g_assert_cmpint(network_derive(&settings, &spec, &network), ==, 0);
        g_assert_cmpuint(network.n_observation, ==, 16);
        spec.observation.kind = ACTORD_MULTI_DISCRETE;
        spec.observation.n_dims = 1;
        spec.observation.shape[0] = 3;
        g_assert_cmpint(network_derive(&settings, &spec, &network), ==, 0);
        g_assert_cmpuint(network.n_observation, ==, 3 * 16);
}

/* If an action has several numbers, a network has an output for each possible value of each of them.
 * Algorithms that cannot learn such actions refuse them. */
static void test_several_choices(void) {
        static const uint32_t refuse[] = { ALGORITHM_DQN, ALGORITHM_DDPG, ALGORITHM_SAC, ALGORITHM_TD3_BC };
        static const uint32_t learn[] = { ALGORITHM_PPO, ALGORITHM_A2C, ALGORITHM_IMPALA, ALGORITHM_IMPACT,
                ALGORITHM_REBEL, ALGORITHM_BC };
        ActordEnvSpec spec = spec_make(false);
        JobSettings settings = settings_make();
        Network network;

        spec.action = (ActordSpace){
                .kind = ACTORD_MULTI_DISCRETE, .element = ACTORD_I32, .n_dims = 1, .shape = { 3 }
        };
        memcpy(spec.action_choices, (uint32_t[]){ 2, 3, 5 }, 3 * sizeof(uint32_t));
        for (size_t i = 0; i < G_N_ELEMENTS(learn); i++) {
                settings.algorithm = learn[i];
                g_assert_cmpint(network_derive(&settings, &spec, &network), ==, 0);
                g_assert_cmpuint(network.n_action, ==, 10);
                g_assert_cmpuint(network.n_choices, ==, 3);
                g_assert_cmpuint(network.choices[2], ==, 5);
        }
        for (size_t i = 0; i < G_N_ELEMENTS(refuse); i++) {
                settings.algorithm = refuse[i];
                g_assert_cmpint(network_derive(&settings, &spec, &network), ==, -EDOTDOT);
        }
        /* n_choices: each element of the action has this many choices, as in the first version of the
         * ABI. */
        settings.algorithm = ALGORITHM_PPO;
        spec.action.n_choices = 4;
        g_assert_cmpint(network_derive(&settings, &spec, &network), ==, 0);
        g_assert_cmpuint(network.n_action, ==, 12);
}

static void image_shape(ActordEnvSpec *spec, uint32_t a, uint32_t b, uint32_t c) {
        spec->observation = (ActordSpace){
                .kind = ACTORD_BOX, .element = ACTORD_U8, .n_dims = c > 0 ? 3 : 2, .shape = { a, b, c }
        };
}

static void check_convolutions(
                const JobSettings *settings, const ActordEnvSpec *spec, const char *expected) {
        g_autofree char *got = NULL;
        uint64_t at = 0;
        Network network;

        g_assert_cmpint(network_derive(settings, spec, &network), ==, 0);
        got = network_to_string(&network);
        g_assert_cmpstr(got, ==, expected);
        for (uint32_t i = 0; i < network.n_layers; i++) {
                const Layer *l = &network.layers[i];

                g_assert_cmpuint(l->weight_at, ==, at);
                g_assert_cmpuint(l->bias_at, ==, at + (uint64_t) l->n_units * l->n_reads);
                at = l->bias_at + l->n_units;
        }
        g_assert_cmpuint(network.n_parameters, ==, at);
        g_assert_true(network.pixels);
}

/* The networks of "Human-level control through deep reinforcement learning" (Mnih et al., 2015) and of
 * MinionsRL, layer for layer. */
static void test_convolutions(void) {
        static const setting_convolutions nature = { 3, 0,
                { { 32, 8, 4, 0 }, { 64, 4, 2, 0 }, { 64, 3, 1, 0 } } },
                                          minions = { 3, 0,
                                                  { { 16, 8, 4, 2 }, { 32, 4, 2, 2 }, { 256, 11, 1, 0 } } };
        ActordEnvSpec spec = spec_make(false);
        JobSettings settings = {
                .shared_network = 1, .convolutions = nature, .hidden_layers = { 1, { 512 } }
        };
        Network network;

        image_shape(&spec, 4, 84, 84);
        check_convolutions(&settings, &spec,
                        "network.0 4x84x84>32x20x20 network.2 32x20x20>64x9x9 network.4 64x9x9>64x7x7 "
                        "network.7 3136>512 2 actor 512>5 3 critic 512>1 3 ");
        settings.algorithm = ALGORITHM_DQN;
        check_convolutions(&settings, &spec,
                        "network.0 4x84x84>32x20x20 network.2 32x20x20>64x9x9 network.4 64x9x9>64x7x7 "
                        "network.7 3136>512 2 network.9 512>5 3 ");

        settings = (JobSettings){ .convolutions = minions, .hidden_layers = { 1, { 0 } } };
        image_shape(&spec, 3, 84, 84);
        check_convolutions(&settings, &spec,
                        "actor.0 3x84x84>16x21x21 actor.2 16x21x21>32x11x11 actor.4 32x11x11>256x1x1 "
                        "actor.7 256>5 2 critic.0 3x84x84>16x21x21 critic.2 16x21x21>32x11x11 critic.4 "
                        "32x11x11>256x1x1 critic.7 256>1 6 ");

        /* An image has its channels last; an image without channels counts as one channel. */
        image_shape(&spec, 84, 90, 3);
        settings.convolutions = (setting_convolutions){ 1, 0, { { 1, 84, 1, 0 } } };
        g_assert_cmpint(network_derive(&settings, &spec, &network), ==, 0);
        g_assert_cmpuint(network.layers[0].convolution.channel_step, ==, 1);
        g_assert_cmpuint(network.layers[0].convolution.column_step, ==, 3);
        g_assert_cmpuint(network.layers[0].convolution.row_step, ==, 270);
        g_assert_cmpuint(network.layers[0].convolution.out_width, ==, 7);
        image_shape(&spec, 84, 90, 0);
        g_assert_cmpint(network_derive(&settings, &spec, &network), ==, 0);
        g_assert_cmpuint(network.layers[0].convolution.channels, ==, 1);
}

static void test_impossible_convolutions(void) {
        ActordEnvSpec spec = spec_make(false);
        JobSettings settings = { .shared_network = 1,
                .convolutions = { 2, 0, { { 8, 5, 2, 0 }, { 8, 3, 1, 0 } } },
                .hidden_layers = { 1, { 0 } } };
        Network network;

        image_shape(&spec, 9, 9, 0);
        g_assert_cmpint(network_derive(&settings, &spec, &network), ==, 0);
        /* The first convolution fits this image, but the second one does not fit the output of the first. */
        image_shape(&spec, 9, 8, 0);
        g_assert_cmpint(network_derive(&settings, &spec, &network), ==, -EDOM);
        image_shape(&spec, 4, 9, 0);
        g_assert_cmpint(network_derive(&settings, &spec, &network), ==, -EDOM);
        spec.observation.n_dims = 1;
        spec.observation.shape[0] = 81;
        g_assert_cmpint(network_derive(&settings, &spec, &network), ==, -EDOM);
        image_shape(&spec, 250, 250, 0);
        g_assert_cmpint(network_derive(&settings, &spec, &network), ==, -E2BIG);
        settings.convolutions.n = 0;
        g_assert_cmpint(network_derive(&settings, &spec, &network), ==, -EINVAL);
}

static void test_limits(void) {
        ActordEnvSpec spec = spec_make(true);
        JobSettings settings = settings_make();
        Network network;

        settings.hidden_layers.n = 0;
        g_assert_cmpint(network_derive(&settings, &spec, &network), ==, -EINVAL);
        settings.hidden_layers = (setting_u32list){ HIDDEN_LAYERS_MAX, { 9, 9, 9, 9, 9, 9, 9, 9 } };
        g_assert_cmpint(network_derive(&settings, &spec, &network), ==, 0);
        g_assert_cmpuint(network.n_layers, <=, LAYERS_MAX);
        settings.hidden_layers.values[3] = 0;
        g_assert_cmpint(network_derive(&settings, &spec, &network), ==, -EINVAL);
        settings.hidden_layers.values[3] = FORWARD_SCRATCH_MAX;
        g_assert_cmpint(network_derive(&settings, &spec, &network), ==, -E2BIG);
        settings = settings_make();
        spec.observation.shape[0] = 1 << 20;
        g_assert_cmpint(network_derive(&settings, &spec, &network), ==, -E2BIG);
}

/* The network of an algorithm that learns the value of each choice has the names of CleanRL's QNetwork.
 * Continuous actions are refused. */
static void test_values(void) {
        ActordEnvSpec spec = spec_make(false), continuous = spec_make(true);
        JobSettings settings = settings_make();
        g_autofree char *got = NULL;
        Network network;

        settings.algorithm = ALGORITHM_DQN;
        g_assert_cmpint(network_derive(&settings, &spec, &network), ==, 0);
        got = network_to_string(&network);
        g_assert_cmpstr(got, ==, "network.0 6>64 ^ network.2 64>32 0 network.4 32>5 1 ");
        g_assert_cmpuint(network.act, ==, ACT_EPSILON_GREEDY);
        g_assert_null(network_output(&network, OUTPUT_VALUE));
        g_assert_cmpint(network_derive(&settings, &continuous, &network), ==, -EOPNOTSUPP);
}

/* A network beside the policy has the inputs and the outputs that its row lists. */
static void test_beside(void) {
        static const NetworkRow rows[] = {
                { .layers = "q", .reads = READS_OBSERVATION | READS_ACTION, .tells = OUTPUT_VALUE },
                { .layers = "v", .reads = READS_OBSERVATION, .tells = OUTPUT_VALUE },
                { .layers = "clone", .reads = READS_OBSERVATION, .tells = OUTPUT_ACTION },
        };
        static const char *const expected[] = {
                "q.0 9>64 ^ q.2 64>32 0 q.4 32>1 1 ",
                "v.0 6>64 ^ v.2 64>32 0 v.4 32>1 1 ",
                "clone.0 6>64 ^ clone.2 64>32 0 clone.4 32>3 1 ",
        };
        const Network policy = { .n_observation = 6, .n_action = 3 };
        JobSettings settings = settings_make();
        Network network, wide = { .n_observation = FORWARD_SCRATCH_MAX - 98, .n_action = 1 };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autofree char *got = NULL;

                g_assert_cmpint(network_derive_beside(&settings, &policy, &rows[i], &network), ==, 0);
                got = network_to_string(&network);
                g_assert_cmpstr(got, ==, expected[i]);
        }

        /* These inputs fit exactly: a row has room for them, 96 hidden units, the action and the value. */
        g_assert_cmpint(network_derive_beside(&settings, &wide, &rows[0], &network), ==, 0);
        wide.n_observation++;
        g_assert_cmpint(network_derive_beside(&settings, &wide, &rows[0], &network), ==, -E2BIG);
}

/* A critic reads an observation s and an action a, one number each. An edited network also reads the
 * products s s, s a and a a. */
static void test_edited(void) {
        static const NetworkRow row = {
                .layers = "q", .reads = READS_OBSERVATION | READS_ACTION, .tells = OUTPUT_VALUE
        };
        const Network policy = { .n_observation = 1, .n_action = 1 };
        JobSettings settings;
        Network network;

        settings = settings_make();
        settings.algorithm = ALGORITHM_DDPG;
        g_assert_cmpint(network_derive_beside(&settings, &policy, &row, &network), ==, 0);
        g_assert_cmpuint(network.n_edited, ==, 0);
        g_assert_cmpuint(network.n_observation, ==, 2);

        settings.input_augmentation = 2;
        g_assert_cmpint(network_derive_beside(&settings, &policy, &row, &network), ==, 0);
        g_assert_cmpuint(network.n_observation, ==, 2);
        g_assert_cmpuint(network.n_edited, ==, 5);
        g_assert_cmpuint(network.layers[0].n_reads, ==, 5);
        g_assert_cmpuint(network.monomials[1].second, ==, MONOMIAL_LINEAR);
        g_assert_cmpuint(network.monomials[3].first, ==, 0);
        g_assert_cmpuint(network.monomials[3].second, ==, 1);

        settings.link_editing = (setting_matrix){ .n = 5, .values = { 0, 1, 0, 0, 1 } };
        g_assert_cmpint(network_derive_beside(&settings, &policy, &row, &network), ==, 0);
        g_assert_cmpuint(network.n_edited, ==, 2);
        g_assert_cmpuint(network.layers[0].n_reads, ==, 2);
        g_assert_cmpuint(network.monomials[0].first, ==, 1);
        g_assert_cmpuint(network.monomials[1].first, ==, 1);
        g_assert_cmpuint(network.monomials[1].second, ==, 1);

        settings.link_editing.n = 4;
        g_assert_cmpint(network_derive_beside(&settings, &policy, &row, &network), ==, -EILSEQ);
        settings.link_editing = (setting_matrix){ .n = 5 };
        g_assert_cmpint(network_derive_beside(&settings, &policy, &row, &network), ==, -EILSEQ);
        settings.link_editing.n = 0;
        g_assert_cmpint(network_derive_beside(&settings, &(Network){ .n_observation = 7, .n_action = 1 },
                                        &row, &network),
                        ==, -EILSEQ);
}

/* The policy has three inputs, nine with their products. Its first layer reads only those that
 * PolicyLinkEditing= leaves. */
static void test_edited_policy(void) {
        ActordEnvSpec spec = spec_make(true);
        JobSettings settings = settings_make();
        Network network;

        settings.algorithm = ALGORITHM_PHYDRL;
        spec.observation = (ActordSpace){ ACTORD_BOX, ACTORD_F32, .n_dims = 1, .shape = { 3 } };
        spec.action.low = -1;
        spec.action.high = 1;
        settings.policy_input_augmentation = 2;
        settings.policy_link_editing = (setting_matrix){ .n = 9, .values = { [2] = 1, [5] = 1, [8] = 1 } };
        g_assert_cmpint(network_derive(&settings, &spec, &network), ==, 0);
        g_assert_cmpuint(network.n_observation, ==, 3);
        g_assert_cmpuint(network.n_edited, ==, 3);
        g_assert_cmpuint(network.layers[0].n_reads, ==, 3);
        g_assert_cmpuint(network.monomials[0].second, ==, MONOMIAL_LINEAR);
        g_assert_cmpuint(network.monomials[1].first, ==, 0);
        g_assert_cmpuint(network.monomials[1].second, ==, 2);

        settings.policy_link_editing.n = 8;
        g_assert_cmpint(network_derive(&settings, &spec, &network), ==, -EBADR);
        settings.policy_link_editing = (setting_matrix){};
        spec.observation.shape[0] = 8;
        g_assert_cmpint(network_derive(&settings, &spec, &network), ==, -EBADR);

        /* A monomial of a number that the observation does not have is refused. */
        spec.observation.shape[0] = 3;
        g_assert_cmpint(network_derive(&settings, &spec, &network), ==, 0);
        g_assert_true(network_edit_possible(&network));
        network.monomials[8].second = 3;
        g_assert_false(network_edit_possible(&network));
}

/* Policies that scale their output to the bounds of actions need two bounds that are finite and not equal,
 * and whose distance is a finite float. */
static void test_bounds(void) {
        static const uint32_t scale[] = { ALGORITHM_DDPG, ALGORITHM_TD3, ALGORITHM_SAC,
                ALGORITHM_CONSISTENCY };
        static const double bounds[][2] = { { -1, INFINITY }, { -INFINITY, 1 }, { 1, 1 }, { -1e300, 1 } };
        ActordEnvSpec spec = spec_make(true);
        JobSettings settings = settings_make();
        Network network;

        for (size_t i = 0; i < G_N_ELEMENTS(scale); i++) {
                settings.algorithm = scale[i];
                for (size_t k = 0; k < G_N_ELEMENTS(bounds); k++) {
                        spec.action.low = bounds[k][0];
                        spec.action.high = bounds[k][1];
                        g_assert_cmpint(network_derive(&settings, &spec, &network), ==, -ERANGE);
                }
                spec.action.low = -1;
                spec.action.high = 1;
                g_assert_cmpint(network_derive(&settings, &spec, &network), ==, 0);
        }
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);

        g_test_add_func("/network/shapes", test_shapes);
        g_test_add_func("/network/outputs", test_gains_and_outputs);
        g_test_add_func("/network/acting-layers", test_acting_layers);
        g_test_add_func("/network/observations", test_observations);
        g_test_add_func("/network/several-choices", test_several_choices);
        g_test_add_func("/network/convolutions", test_convolutions);
        g_test_add_func("/network/impossible-convolutions", test_impossible_convolutions);
        g_test_add_func("/network/values", test_values);
        g_test_add_func("/network/limits", test_limits);

        g_test_add_func("/network/beside", test_beside);
        g_test_add_func("/network/edited", test_edited);
        g_test_add_func("/network/bounds", test_bounds);
        g_test_add_func("/network/edited-policy", test_edited_policy);
        return g_test_run();
}
