/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests the forward pass: against sums in double precision; against the documented order of additions, bit
 * for bit and in each vector width of this host; and rows alone against rows together. The source is
 * included, since only it shows the outputs of hidden layers. */
#include "lib/forward-layers.c" /* NOLINT(bugprone-suspicious-include) */

#include <float.h>
#include <glib.h>
#include <malloc.h>
#include <math.h>

#include "lib/elementary.h"
#include "lib/rng.h"
#include "lib/settings/settings.h"
#include "lib/width.h"

typedef struct Fixture {
        JobSettings settings;
        ActordEnvSpec spec;
        JobPage page;
        PolicyHead *bank;
} Fixture;

static float draw(ActordRandom *random) {
        return (float) actord_random_normal(random);
}

static void fixture_make(Fixture *f, uint32_t n_observation, uint32_t n_action, bool continuous, bool shared,
                uint32_t activation, const setting_u32list *hidden) {
        ActordRandom random;
        float *numbers;

        *f = (Fixture){
                .settings = { .envs_per_actor = 1,
                                .rollout_steps = 1,
                                .activation = activation,
                                .shared_network = shared,
                                .hidden_layers = *hidden },
                .spec = { .name = "toy",
                                .observation = { .kind = ACTORD_BOX,
                                                .element = ACTORD_F32,
                                                .n_dims = 1,
                                                .shape = { n_observation },
                                                .low = -INFINITY,
                                                .high = INFINITY },
                                .action = { .kind = ACTORD_DISCRETE,
                                                .element = ACTORD_I32,
                                                .n_choices = n_action },
                                .n_agents = 1,
                                .reward_high = 1 },
        };
        if (continuous)
                f->spec.action = (ActordSpace){ .kind = ACTORD_BOX,
                        .element = ACTORD_F32,
                        .n_dims = 1,
                        .shape = { n_action },
                        .low = -1,
                        .high = 1 };

        g_assert_cmpint(job_page_make(&f->settings, &f->spec, &f->page), ==, 0);

        /* The memory has exactly the size of a bank, so that a sanitizer reports a read beyond it. The
         * padding is NaN (0xff), so that a result in which it is used is wrong. */
        f->bank = aligned_alloc(64, f->page.policy.bank_bytes);
        memset(f->bank, 0xff, f->page.policy.bank_bytes);
        *f->bank = (PolicyHead){ .policy_version = 1, .observation_clip = 2 };
        numbers = (float *) ((uint8_t *) f->bank + f->page.policy.mean_at);
        random_begin(&random, 1, RANDOM_INIT, 0, 0, 0);
        for (uint32_t i = 0; i < n_observation; i++)
                numbers[i] = draw(&random);
        numbers = (float *) ((uint8_t *) f->bank + f->page.policy.inverse_sd_at);
        for (uint32_t i = 0; i < n_observation; i++)
                numbers[i] = fabsf(draw(&random));
        numbers = (float *) ((uint8_t *) f->bank + f->page.policy.parameters_at);
        for (uint64_t i = 0; i < f->page.network.n_parameters; i++)
                numbers[i] = 0.3f * draw(&random);
}

static void fixture_done(Fixture *f) {
        free(f->bank);
}

/* The reference for a row: computes layer by layer in double precision, with the C library's tanh(). */
static void reference_row(const Fixture *f, const float *observation, double *ret_parameters) {
        const Network *network = &f->page.network;
        const float *w = policy_numbers(f->bank, f->page.policy.parameters_at);
        const float *mean = policy_numbers(f->bank, f->page.policy.mean_at);
        const float *inverse_sd = policy_numbers(f->bank, f->page.policy.inverse_sd_at);
        double *outputs[LAYERS_MAX + 1];

        outputs[LAYERS_MAX] = g_new(double, network->n_observation);
        for (uint32_t i = 0; i < network->n_observation; i++) {
                double x = ((double) observation[i] - mean[i]) * inverse_sd[i];

                outputs[LAYERS_MAX][i] = CLAMP(x, -2, 2);
        }

        for (uint32_t i = 0; i < network->n_layers; i++) {
                const Layer *layer = &network->layers[i];
                const double *x = outputs[layer->input == i ? LAYERS_MAX : layer->input];

                outputs[i] = g_new(double, layer->n_out);
                for (uint32_t o = 0; o < layer->n_out; o++) {
                        double y = w[layer->bias_at + o];

                        for (uint32_t k = 0; k < layer->n_in; k++)
                                y += x[k] * w[layer->weight_at + (uint64_t) o * layer->n_in + k];
                        if (layer->activation == LAYER_TANH)
                                y = tanh(y);
                        if (layer->activation == LAYER_RELU)
                                y = MAX(y, 0);
                        if (layer->activation == LAYER_SILU)
                                y /= 1 + exp(-y);
                        if (layer->activation == LAYER_MISH)
                                y *= tanh(log1p(exp(y)));
                        outputs[i][o] = y;
                }
                if (layer->output == OUTPUT_ACTION)
                        memcpy(ret_parameters, outputs[i], network->n_action * sizeof(double));
                if (layer->output == OUTPUT_LOG_STD)
                        memcpy(ret_parameters + network->n_action, outputs[i],
                                        network->n_action * sizeof(double));
        }

        for (uint32_t i = 0; i < network->n_layers; i++)
                g_free(outputs[i]);
        g_free(outputs[LAYERS_MAX]);
}

static void check_reference(const Fixture *f) {
        uint32_t n_observation = f->page.network.n_observation, n_action = f->page.network.n_action;
        uint32_t n_parameters = f->page.network.act == ACT_GAUSSIAN ? 2 * n_action : n_action;
        g_autofree float *observation = g_new(float, n_observation);
        g_autofree float *got = g_new(float, n_parameters);
        g_autofree double *expected = g_new(double, n_parameters);
        Forward *forward;
        ActordRandom random;

        g_assert_cmpint(forward_new(&f->page.network, &f->spec, &forward), ==, 0);
        forward_load(forward, f->bank, &f->page.policy);
        random_begin(&random, 2, RANDOM_INIT, 0, 0, 0);

        for (int row = 0; row < 20; row++) {
                for (uint32_t i = 0; i < n_observation; i++)
                        observation[i] = draw(&random);
                reference_row(f, observation, expected);
                forward_row(forward, observation, got);
                for (uint32_t i = 0; i < n_parameters; i++)
                        g_assert_cmpfloat(fabs(got[i] - expected[i]), <, 2e-5 * (1 + fabs(expected[i])));
        }
        (void) forward_free(forward);
}

static void test_reference(void) {
        static const uint32_t sizes[] = { 1, 3, 4, 11, 15, 16, 17, 31, 33, 64 };

        for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++)
                for (int kind = 0; kind < 4 * _ACTIVATION_MAX; kind++) {
                        setting_u32list hidden = { 2,
                                { sizes[(i + 3) % G_N_ELEMENTS(sizes)], sizes[(i + 5) % 10] } };
                        Fixture f;

                        fixture_make(&f, sizes[i], sizes[(i + kind) % 10], kind & 1, kind & 2,
                                        (uint32_t) kind / 4, &hidden);
                        check_reference(&f);
                        fixture_done(&f);
                }
}

/* Adds the products one after the other, by fused multiply-add. This order is documented, and the learner
 * has the same (test-kernels.c). */
static float sum_in_order(float sum, const float *w, const float *x, size_t n) {
        for (size_t k = 0; k < n; k++)
                sum = fmaf(w[k], x[k], sum);
        return sum;
}

/* Checks the outputs of each layer for n_rows rows against sums in the documented order. */
static void check_layers(const Fixture *f, const Forward *forward, size_t n_rows) {
        const float *w = policy_numbers(f->bank, f->page.policy.parameters_at);

        for (uint32_t i = 0; i < f->page.network.n_layers; i++) {
                const Layer *l = &f->page.network.layers[i];
                const float *x = l->input == i ? forward->observation : forward->outputs[l->input];

                for (size_t r = 0; forward->outputs[i] && r < n_rows; r++)
                        for (uint32_t o = 0; o < l->n_out; o++) {
                                float y = sum_in_order(w[l->bias_at + o],
                                                w + l->weight_at + (size_t) o * l->n_in,
                                                x + r * padded(l->n_in), l->n_in);

                                if (l->activation == LAYER_TANH)
                                        y = elementary_tanh(y);
                                else if (l->activation == LAYER_RELU)
                                        y = y < 0 ? 0 : y;
                                else if (l->activation == LAYER_SILU)
                                        y = elementary_silu(y);
                                else if (l->activation == LAYER_MISH)
                                        y = elementary_mish(y);
                                g_assert_cmpmem(&forward->outputs[i][r * padded(l->n_out) + o],
                                                sizeof(float), &y, sizeof(float));
                        }
        }
}

static void check_order(uint32_t n_observation, uint32_t n_action, uint32_t first, uint32_t second) {
        g_autofree float *observations = g_new(float, FORWARD_ROWS_MAX *n_observation);
        g_autofree float *parameters = g_new(float, FORWARD_ROWS_MAX * 2 * n_action);
        setting_u32list hidden = { 2, { first, second } };
        ActordRandom random;
        Forward *forward;
        Fixture f;

        fixture_make(&f, n_observation, n_action, false, false, first % _ACTIVATION_MAX, &hidden);
        random_begin(&random, 3, RANDOM_INIT, 0, 0, 0);
        for (size_t i = 0; i < FORWARD_ROWS_MAX * n_observation; i++)
                observations[i] = draw(&random);

        for (Width width = 0; width < _WIDTH_MAX; width++) {
                if (!width_present(width))
                        continue;
                width_choose(width);
                g_assert_cmpint(forward_new(&f.page.network, &f.spec, &forward), ==, 0);
                forward_load(forward, f.bank, &f.page.policy);
                for (size_t n_rows = 1; n_rows <= FORWARD_ROWS_MAX; n_rows += n_rows < 6 ? 1 : 5) {
                        forward_rows(forward, observations, n_observation * sizeof(float), n_rows,
                                        parameters);
                        check_layers(&f, forward, n_rows);
                }
                forward = forward_free(forward);
        }
        fixture_done(&f);
}

static void test_order(void) {
        static const uint32_t sizes[] = { 1, 3, 16, 17, 33, 64, 65, 130 };
        enum { N = G_N_ELEMENTS(sizes) };

        for (size_t i = 0; i < N; i++)
                check_order(sizes[i], sizes[(i + 3) % N], sizes[(i + 1) % N], sizes[(i + 5) % N]);
        /* The second layer of this network is too large to be kept transposed. */
        g_assert_cmpuint(2100 * 1001, >, KEPT_MAX);
        check_order(5, 2, 2100, 1001);
}

/* A row gives the same result alone and together with other rows, in any order. */
static void test_neighbours(void) {
        enum { ROWS = 64, N = 11 };
        setting_u32list hidden = { 2, { 64, 64 } };
        float rows[ROWS][N], alone[ROWS][6];
        Forward *together;
        ActordRandom random;
        Fixture f;

        fixture_make(&f, N, 3, true, false, ACTIVATION_TANH, &hidden);
        g_assert_cmpint(forward_new(&f.page.network, &f.spec, &together), ==, 0);
        forward_load(together, f.bank, &f.page.policy);
        random_begin(&random, 4, RANDOM_INIT, 0, 0, 0);

        for (int i = 0; i < ROWS; i++) {
                Forward *own;

                for (int k = 0; k < N; k++)
                        rows[i][k] = draw(&random);
                g_assert_cmpint(forward_new(&f.page.network, &f.spec, &own), ==, 0);
                forward_load(own, f.bank, &f.page.policy);
                forward_row(own, rows[i], alone[i]);
                (void) forward_free(own);
        }

        for (int k = 0; k < 4 * ROWS; k++) {
                int i = (int) random_below(&random, ROWS);
                float got[6];

                forward_row(together, rows[i], got);
                g_assert_cmpmem(got, sizeof(got), alone[i], sizeof(alone[i]));
        }

        /* Any number of rows in one call gives the same bits as each row alone. */
        for (size_t n = 1; n <= FORWARD_ROWS_MAX; n++)
                for (size_t i = 0; i + n <= ROWS; i += n) {
                        float got[FORWARD_ROWS_MAX][6];

                        forward_rows(together, rows[i], sizeof(rows[i]), n, got[0]);
                        g_assert_cmpmem(got, n * sizeof(got[0]), alone[i], n * sizeof(alone[i]));
                }

        (void) forward_free(together);
        fixture_done(&f);
}

static double tanh_ulps(float x) {
        double exact = tanh((double) x);
        float nearest = (float) exact;
        double ulp = nearest >= 1 ? 0x1p-24 : nextafterf(nearest, INFINITY) - nearest;

        return fabs(elementary_tanh(x) - exact) / ulp;
}

static void test_tanh(void) {
        double worst = 0;

        /* Every 997th float from 0 to 16, with denormal ones. Larger floats and NaN follow below. */
        for (uint32_t bits = 0; bits < 0x41800000u; bits += 997) {
                float x, y;

                memcpy(&x, &bits, sizeof(x));
                y = elementary_tanh(x);
                worst = MAX(worst, tanh_ulps(x));
                g_assert_true(y <= 1 && y >= 0);
                g_assert_true(elementary_tanh(-x) == -y);
        }
        g_assert_cmpfloat(worst, <, ELEMENTARY_TANH_ULP);

        g_assert_true(elementary_tanh(INFINITY) == elementary_tanh(9.02f));
        g_assert_true(elementary_tanh(-INFINITY) == -elementary_tanh(FLT_MAX));
        g_assert_true(elementary_tanh(INFINITY) >= 1 - ELEMENTARY_TANH_ULP * 0x1p-24f);
        g_assert_true(isnan(elementary_tanh(NAN)));
}

static void test_observations(void) {
        ActordSpace space = { .kind = ACTORD_BOX, .n_dims = 1, .shape = { 3 } };
        float x[3], mean[3] = { 1, 1, 1 }, inverse_sd[3] = { 2, 2, 2 };

        space.element = ACTORD_F64;
        observation_read(&space, (double[]){ 1.5, -2, 1e300 }, x);
        g_assert_true(x[0] == 1.5f && x[1] == -2 && isinf(x[2]));
        observation_normalise(mean, inverse_sd, 5, 3, x);
        g_assert_true(x[0] == 1 && x[1] == -5 && x[2] == 5);

        space.element = ACTORD_U8;
        observation_read(&space, (uint8_t[]){ 0, 7, 255 }, x);
        g_assert_true(x[0] == 0 && x[1] == 7 && x[2] == 255);
        space.element = ACTORD_I32;
        observation_read(&space, (int32_t[]){ -1, 7, 0 }, x);
        g_assert_true(x[0] == -1 && x[1] == 7 && x[2] == 0);
        observation_normalise(mean, inverse_sd, 0, 3, x);
        g_assert_true(x[0] == -1);

        space = (ActordSpace){ .kind = ACTORD_DISCRETE, .element = ACTORD_I32, .n_choices = 3 };
        observation_read(&space, (int32_t[]){ 2 }, x);
        g_assert_true(x[0] == 0 && x[1] == 0 && x[2] == 1);
        /* A choice that does not exist (its sender is not trusted) sets none of the numbers. */
        observation_read(&space, (int32_t[]){ -1 }, x);
        g_assert_true(x[0] == 0 && x[1] == 0 && x[2] == 0);
}

static void test_categorical(void) {
        enum { N = 100000 };
        static const float logits[4] = { 1, -2, 0.5f, 700 - 702 };
        Network network = { .act = ACT_CATEGORICAL, .n_action = 4, .n_choices = 1, .choices = { 4 } };
        unsigned counts[4] = {};
        double sum = 0;
        int32_t choice;

        for (int i = 0; i < 4; i++)
                sum += exp(logits[i]);
        for (uint32_t i = 0; i < N; i++) {
                ActordRandom random;
                float log_probability;

                random_begin(&random, 1, RANDOM_ACTION, 0, 0, i);
                action_sample(&network, logits, false, &random, &choice, &log_probability);
                g_assert_true(choice >= 0 && choice < 4);
                counts[choice]++;
                g_assert_cmpfloat(fabs(log_probability - (logits[choice] - log(sum))), <, 1e-6);
        }
        for (int i = 0; i < 4; i++) {
                double p = exp(logits[i]) / sum;

                g_assert_cmpfloat(fabs(counts[i] - N * p), <, 5 * sqrt(N * p * (1 - p)));
        }

        action_sample(&network, logits, true, NULL, &choice, NULL);
        g_assert_cmpint(choice, ==, 0);
        choice = 4;
        g_assert_true(isinf(action_log_probability(&network, logits, &choice)));

        /* The logits are as far apart as floats can be: nothing overflows, and the choice is certain, so its
         * log probability is 0. */
        choice = 0;
        g_assert_true(action_log_probability(&network, (float[]){ 3e38f, -3e38f, 0, 0 }, &choice) == 0);
}

/* Two choices at once, of 2 and of 3: each is drawn by its own logits, whatever the other is. */
static void test_several_choices(void) {
        enum { N = 100000 };
        static const float logits[5] = { 0, 1, 2, 0, -1 };
        Network network = { .act = ACT_CATEGORICAL, .n_action = 5, .n_choices = 2, .choices = { 2, 3 } };
        double sums[2] = { exp(0) + exp(1), exp(2) + exp(0) + exp(-1) };
        unsigned counts[2][3] = {};
        int32_t action[2];

        for (uint32_t i = 0; i < N; i++) {
                ActordRandom random;
                float log_probability;
                random_begin(&random, 1, RANDOM_ACTION, 0, 0, i);
                action_sample(&network, logits, false, &random, action, &log_probability);
                counts[action[0]][action[1]]++;
                g_assert_cmpfloat_with_epsilon(log_probability,
                                logits[action[0]] - log(sums[0]) + logits[2 + action[1]] - log(sums[1]),
                                1e-6);
        }
        for (int a = 0; a < 2; a++)
                for (int b = 0; b < 3; b++) {
                        double p = exp(logits[a]) / sums[0] * exp(logits[2 + b]) / sums[1];

                        g_assert_cmpfloat(fabs(counts[a][b] - N * p), <, 5 * sqrt(N * p * (1 - p)));
                }

        action_sample(&network, logits, true, NULL, action, NULL);
        g_assert_true(action[0] == 1 && action[1] == 0);
        action[1] = 3;
        g_assert_true(isinf(action_log_probability(&network, logits, action)));
}

/* Epsilon-greedy: `values` has the value of each choice and then the chance of a random choice. A random
 * choice is uniform among all choices; otherwise the choice with the highest value is taken. */
static void test_epsilon_greedy(void) {
        enum { N = 100000 };
        static const float values[5] = { 1, 3, 3, -2, 0.2f };
        static const double expected[4] = { 0.05, 0.85, 0.05, 0.05 };
        Network network = { .act = ACT_EPSILON_GREEDY, .n_action = 4 };
        unsigned counts[4] = {};
        int32_t choice;

        for (uint32_t i = 0; i < N; i++) {
                ActordRandom random;
                float log_probability;

                random_begin(&random, 1, RANDOM_ACTION, 0, 0, i);
                action_sample(&network, values, false, &random, &choice, &log_probability);
                g_assert_true(choice >= 0 && choice < 4);
                counts[choice]++;
                g_assert_cmpfloat(fabs(log_probability - log(expected[choice])), <, 1e-6);
        }
        for (int i = 0; i < 4; i++)
                g_assert_cmpfloat(fabs(counts[i] - N * expected[i]), <,
                                5 * sqrt(N * expected[i] * (1 - expected[i])));

        /* Evaluations take no random actions. */
        action_sample(&network, values, true, NULL, &choice, NULL);
        g_assert_cmpint(choice, ==, 1);
        choice = 4;
        g_assert_true(isinf(action_log_probability(&network, values, &choice)));
}

/* forward_load() takes the probability of a random action from the head of the policy bank. */
static void test_forward_values(void) {
        ActordEnvSpec spec = { .observation = { .kind = ACTORD_BOX, .n_dims = 1, .shape = { 3 } },
                .action = { .kind = ACTORD_DISCRETE, .n_choices = 2 } };
        JobSettings settings = { .algorithm = ALGORITHM_DQN, .hidden_layers = { 1, { 4 } } };
        float observation[3] = { 1, 2, 3 }, parameters[4] = {};
        Forward *forward;
        JobPage page = {};
        PolicyHead *head;

        page.spec = spec;
        g_assert_cmpint(network_derive(&settings, &spec, &page.network), ==, 0);
        g_assert_cmpint(policy_layout(&page.network, NULL, POLICY_BANKS, &page.policy), ==, 0);
        head = aligned_alloc(64, page.policy.bank_bytes);
        memset(head, 0, page.policy.bank_bytes);
        head->epsilon = 0.25;
        g_assert_cmpint(forward_new(&page.network, &spec, &forward), ==, 0);
        forward_load(forward, head, &page.policy);
        forward_row(forward, observation, parameters);
        g_assert_cmpfloat(parameters[0], ==, 0);
        g_assert_cmpfloat(parameters[2], ==, 0.25f);
        forward_free(forward);
        free(head);
}

static void test_gaussian(void) {
        enum { N = 50000 };
        static const float parameters[4] = { 1, -3, 0, -1 };
        Network network = { .act = ACT_GAUSSIAN, .n_action = 2 };
        double sum[2] = {}, squares[2] = {};
        float action[2];

        for (uint32_t i = 0; i < N; i++) {
                ActordRandom random;
                float log_probability;
                double expected = 0;

                random_begin(&random, 1, RANDOM_ACTION, 0, 0, i);
                action_sample(&network, parameters, false, &random, action, &log_probability);
                for (int k = 0; k < 2; k++) {
                        double sd = exp(parameters[2 + k]), z = (action[k] - parameters[k]) / sd;

                        sum[k] += z;
                        squares[k] += z * z;
                        expected += -z * z / 2 - log(sd * sqrt(2 * M_PI));
                }
                g_assert_cmpfloat(fabs(log_probability - expected), <, 1e-4);
        }
        for (int k = 0; k < 2; k++) {
                g_assert_cmpfloat(fabs(sum[k] / N), <, 5 / sqrt(N));
                g_assert_cmpfloat(fabs(squares[k] / N - 1), <, 5 * sqrt(2.0 / N));
        }

        action_sample(&network, parameters, true, NULL, action, NULL);
        g_assert_true(action[0] == 1 && action[1] == -3);
}

static void test_clip(void) {
        ActordEnvSpec spec = {
                .action = { .kind = ACTORD_BOX, .n_dims = 1, .shape = { 3 }, .low = -1, .high = 2 }
        };
        float clipped[3];
        int32_t choice = 0;

        action_clip(&spec, (float[]){ -5, 1.5f, 9 }, clipped);
        g_assert_true(clipped[0] == -1 && clipped[1] == 1.5f && clipped[2] == 2);

        spec.action = (ActordSpace){ .kind = ACTORD_DISCRETE, .n_choices = 9 };
        action_clip(&spec, (int32_t[]){ 7 }, &choice);
        g_assert_cmpint(choice, ==, 7);
}

static size_t memory_of(uint32_t n_observation, uint32_t n_units, bool shared) {
        setting_u32list hidden = { 1, { n_units } };
        Forward *forward;
        size_t bytes;
        Fixture f;

        fixture_make(&f, n_observation, 3, false, shared, ACTIVATION_TANH, &hidden);
        g_assert_cmpint(forward_new(&f.page.network, &f.spec, &forward), ==, 0);
        bytes = malloc_usable_size(forward);
        (void) forward_free(forward);
        fixture_done(&f);
        return bytes;
}

/* An actor needs no memory for a network that it does not use. A panel (a transposed part of a layer's
 * weights) is no wider than its layer. */
static void test_memory(void) {
        enum { IMAGE = 84 * 84 * 4, LARGE = 60000, UNITS = 36 };
        size_t slack = 32768, observations = (size_t) FORWARD_ROWS_MAX * LARGE * sizeof(float);
        size_t panel = LARGE * padded(UNITS) * sizeof(float), large = memory_of(LARGE, UNITS, false);

        g_assert_cmpuint(memory_of(IMAGE, 16, false), <, memory_of(IMAGE, 16, true) + slack);
        /* The weights of this layer are too many to be kept transposed. */
        g_assert_cmpuint(LARGE * padded(UNITS), >, KEPT_MAX);
        g_assert_cmpuint(padded(UNITS), <, PANEL);
        g_assert_cmpuint(large, >=, observations + panel);
        g_assert_cmpuint(large, <, observations + panel + slack);
}

static void test_refuses(void) {
        setting_u32list hidden = { 1, { 8 } };
        Forward *forward = NULL;
        Network network;
        Fixture f;

        fixture_make(&f, 4, 2, true, false, ACTIVATION_TANH, &hidden);

        network = f.page.network;
        network.n_layers = LAYERS_MAX + 1;
        g_assert_cmpint(forward_new(&network, &f.spec, &forward), ==, -EINVAL);
        network = f.page.network;
        network.layers[1].input = 3;
        g_assert_cmpint(forward_new(&network, &f.spec, &forward), ==, -EINVAL);
        network = f.page.network;
        network.layers[0].weight_at = network.n_parameters - 1;
        g_assert_cmpint(forward_new(&network, &f.spec, &forward), ==, -EINVAL);
        network = f.page.network;
        network.layers[2].output = OUTPUT_HIDDEN;
        g_assert_cmpint(forward_new(&network, &f.spec, &forward), ==, -EINVAL);
        g_assert_null(forward);

        fixture_done(&f);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);

        g_test_add_func("/forward/reference", test_reference);
        g_test_add_func("/forward/order", test_order);
        g_test_add_func("/forward/neighbours", test_neighbours);
        g_test_add_func("/forward/tanh", test_tanh);
        g_test_add_func("/forward/observations", test_observations);
        g_test_add_func("/forward/categorical", test_categorical);
        g_test_add_func("/forward/several-choices", test_several_choices);
        g_test_add_func("/forward/epsilon-greedy", test_epsilon_greedy);
        g_test_add_func("/forward/values", test_forward_values);
        g_test_add_func("/forward/gaussian", test_gaussian);
        g_test_add_func("/forward/clip", test_clip);
        g_test_add_func("/forward/memory", test_memory);
        g_test_add_func("/forward/refuses", test_refuses);

        return g_test_run();
}
