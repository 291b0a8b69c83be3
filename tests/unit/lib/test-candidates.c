/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests policies that choose among several actions. The reference makes and judges each candidate by calls
 * of its own: the policy's network alone, as with one candidate, and then both critics in double
 * precision. */
#include <glib.h>
#include <math.h>

#include "lib/algorithm-traits.h"
#include "lib/forward.h"
#include "lib/network.h"
#include "lib/rng.h"
#include "lib/width.h"
#include "tests/unit/gradient-reference.h"

enum { ROWS = 20, OBSERVATIONS = 11, ACTIONS = 3, MOST = CANDIDATES_MAX * (ACTIONS + 1) + 1 };
#define BOUND 2.0

/* A policy with several candidates, and the same policy with one. */
typedef struct Twin {
        Bed bed;
        ActordEnvSpec spec;
        Forward *several, *alone;
        float observations[ROWS][OBSERVATIONS];
} Twin;

static const PolicyHead *bank_of(const Twin *twin) {
        return policy_bank(twin->bed.policy, &twin->bed.page.policy, 0);
}

/* Observations are normalised, so a critic that read the raw ones would be found. */
static void bank_fill(Twin *twin) {
        PolicyHead *head = (PolicyHead *) (uintptr_t) bank_of(twin);
        float *mean = (float *) (uintptr_t) policy_numbers(head, twin->bed.page.policy.mean_at);
        float *inverse_sd = (float *) (uintptr_t) policy_numbers(head, twin->bed.page.policy.inverse_sd_at);

        head->observation_clip = 1.5;
        head->epsilon = 0;
        for (int k = 0; k < OBSERVATIONS; k++) {
                mean[k] = 0.1f * (float) k;
                inverse_sd[k] = 1.0f + 0.2f * (float) k;
        }
}

static void twin_open(Twin *twin, const char *algorithm, uint32_t candidates) {
        g_autofree char *sections = g_strdup_printf(
                        "Algorithm=%s\n[Learner]\nHiddenLayers=24 16\nActivation=mish\nCandidates=%u\n",
                        algorithm, candidates);
        Network one;
        ActordRandom random;

        twin->spec = bed_spec_box(OBSERVATIONS, ACTIONS, 0);
        twin->spec.action.low = -BOUND;
        twin->spec.action.high = BOUND;
        bed_start(&twin->bed, sections, &twin->spec);
        g_assert_cmpuint(twin->bed.page.network.candidates, ==, candidates);
        bank_fill(twin);

        one = twin->bed.page.network;
        one.candidates = 1;
        g_assert_cmpint(forward_new_judged(&twin->bed.page.network, &twin->bed.page.judge, &twin->spec,
                                        &twin->several),
                        ==, 0);
        g_assert_cmpint(forward_new(&one, &twin->spec, &twin->alone), ==, 0);
        forward_load(twin->several, bank_of(twin), &twin->bed.page.policy);
        forward_load(twin->alone, bank_of(twin), &twin->bed.page.policy);

        random_begin(&random, 4, RANDOM_INIT, 0, 0, 0);
        for (uint32_t i = 0; i < ROWS; i++)
                for (uint32_t k = 0; k < OBSERVATIONS; k++)
                        twin->observations[i][k] = (float) actord_random_normal(&random);
}

static void twin_close(Twin *twin) {
        (void) forward_free(twin->several);
        (void) forward_free(twin->alone);
        bed_close(&twin->bed);
}

static void stream_of(uint32_t row, ActordRandom *ret) {
        random_begin(ret, 4, RANDOM_ACTION, row, 7, 1);
}

/* The value of an action by critic k, from the learner's own parameters of its target. */
static double reference_value(const Twin *twin, uint32_t k, const float *observation, const float *action) {
        const Network *judge = &twin->bed.page.judge;
        const Adam *net = twin->bed.learner->runtime->nets[net_judge(k)];
        g_autofree double *parameters = g_new(double, judge->n_parameters);
        const PolicyHead *bank = bank_of(twin);
        double storage[LAYERS_MAX][32], *outputs[LAYERS_MAX];
        float input[OBSERVATIONS + ACTIONS];

        for (uint64_t i = 0; i < judge->n_parameters; i++)
                parameters[i] = (double) net->parameters[i];
        for (unsigned i = 0; i < LAYERS_MAX; i++)
                outputs[i] = storage[i];
        memcpy(input, observation, OBSERVATIONS * sizeof(float));
        observation_normalise(policy_numbers(bank, twin->bed.page.policy.mean_at),
                        policy_numbers(bank, twin->bed.page.policy.inverse_sd_at), bank->observation_clip,
                        OBSERVATIONS, input);
        memcpy(input + OBSERVATIONS, action, ACTIONS * sizeof(float));
        reference_forward(judge, parameters, input, outputs);
        return outputs[network_find(judge, OUTPUT_VALUE)][0];
}

/* All candidates of a row, one by one, and their values. *ret_random: the stream after their noise. */
static void reference_propose(Twin *twin, uint32_t row, float ret_shares[][ACTIONS],
                float ret_actions[][ACTIONS], double *ret_values, ActordRandom *ret_random) {
        const Network *network = &twin->bed.page.network;

        stream_of(row, ret_random);
        for (uint32_t c = 0; c < network->candidates; c++) {
                float parameters[2 * ACTIONS];

                forward_draw(twin->alone, 0, ret_random);
                forward_row(twin->alone, twin->observations[row], parameters);
                memcpy(ret_shares[c], parameters, sizeof(ret_shares[c]));
                for (uint32_t i = 0; i < ACTIONS; i++)
                        ret_actions[c][i] = (float) (BOUND * (double) parameters[i]);
                ret_values[c] = fmin(reference_value(twin, 0, twin->observations[row], ret_actions[c]),
                                reference_value(twin, 1, twin->observations[row], ret_actions[c]));
        }
}

/* The candidate that a uniform number chooses by the softmax of the values. */
static uint32_t reference_choice(const double *values, uint32_t n, double uniform) {
        double greatest = -INFINITY, all = 0, sum = 0;

        for (uint32_t i = 0; i < n; i++)
                greatest = fmax(greatest, values[i]);
        for (uint32_t i = 0; i < n; i++)
                all += exp(values[i] - greatest);
        for (uint32_t i = 0; i < n; i++) {
                sum += exp(values[i] - greatest) / all;
                if (uniform < sum)
                        return i;
        }
        return n - 1;
}

static uint32_t reference_best(const double *values, uint32_t n) {
        uint32_t best = 0;

        for (uint32_t i = 1; i < n; i++)
                best = values[i] > values[best] ? i : best;
        return best;
}

static void check_row(Twin *twin, uint32_t row, uint32_t *chosen) {
        const Network *network = &twin->bed.page.network;
        uint32_t n = network->candidates;
        float shares[CANDIDATES_MAX][ACTIONS], actions[CANDIDATES_MAX][ACTIONS], parameters[MOST];
        float drawn[ACTIONS], best[ACTIONS], log_probability;
        double values[CANDIDATES_MAX];
        ActordRandom random, expected;

        reference_propose(twin, row, shares, actions, values, &expected);
        stream_of(row, &random);
        forward_draw(twin->several, 0, &random);
        forward_row(twin->several, twin->observations[row], parameters);
        g_assert_cmpuint(forward_parameters(network), ==, n * (ACTIONS + 1) + 1);
        g_assert_cmpmem(parameters, n * sizeof(shares[0]), shares, n * sizeof(shares[0]));
        g_assert_cmpfloat(parameters[n * ACTIONS], ==, 0);
        for (uint32_t c = 0; c < n; c++)
                g_assert_cmpfloat_with_epsilon((double) parameters[n * ACTIONS + 1 + c], values[c], 1e-4);

        /* One further number of the row's stream chooses. */
        action_sample(network, parameters, true, NULL, best, &log_probability);
        action_sample(network, parameters, false, &random, drawn, &log_probability);
        g_assert_cmpfloat(log_probability, ==, 0);
        g_assert_cmpmem(best, sizeof(best), actions[reference_best(values, n)], sizeof(best));
        *chosen = reference_choice(values, n, actord_random_uniform(&expected, 0, 1));
        g_assert_cmpmem(drawn, sizeof(drawn), actions[*chosen], sizeof(drawn));
        g_assert_cmpuint(actord_random_u32(&random), ==, actord_random_u32(&expected));
}

/* A row in a batch of any size gives the same bits as the row alone, in each width of vectors. */
static void check_batches(Twin *twin) {
        const size_t n_numbers = forward_parameters(&twin->bed.page.network);
        g_autofree float *got = g_new(float, FORWARD_ROWS_MAX *n_numbers);
        g_autofree float *alone = g_new(float, ROWS *n_numbers);
        Width kept = width_chosen();

        for (uint32_t i = 0; i < ROWS; i++) {
                ActordRandom random;

                stream_of(i, &random);
                forward_draw(twin->several, 0, &random);
                forward_row(twin->several, twin->observations[i], alone + i * n_numbers);
        }
        for (Width width = 0; width < _WIDTH_MAX; width++) {
                if (!width_present(width))
                        continue;
                width_choose(width);
                for (size_t n = 1; n <= FORWARD_ROWS_MAX; n += 5)
                        for (size_t i = 0; i + n <= ROWS; i += n) {
                                for (size_t k = 0; k < n; k++) {
                                        ActordRandom random;

                                        stream_of((uint32_t) (i + k), &random);
                                        forward_draw(twin->several, k, &random);
                                }
                                forward_rows(twin->several, twin->observations[i],
                                                sizeof(twin->observations[i]), n, got);
                                g_assert_cmpmem(got, n * n_numbers * sizeof(float), alone + i * n_numbers,
                                                n * n_numbers * sizeof(float));
                        }
        }
        width_choose(kept);
}

/* More candidates than fit into one batch, and a last batch that is not full. */
static void test_reference(void) {
        static const char *const algorithms[] = { "consistency", "diffusion-ql", "pi-ft" };
        static const uint32_t counts[] = { 2, FORWARD_ROWS_MAX, 50, CANDIDATES_MAX };

        for (size_t a = 0; a < G_N_ELEMENTS(algorithms); a++)
                for (size_t k = 0; k < G_N_ELEMENTS(counts); k++) {
                        uint32_t chosen, n_first = 0;
                        Twin twin = {};

                        twin_open(&twin, algorithms[a], counts[k]);
                        for (uint32_t row = 0; row < ROWS; row++) {
                                check_row(&twin, row, &chosen);
                                n_first += chosen == 0;
                        }
                        g_assert_cmpuint(n_first, <, ROWS);
                        check_batches(&twin);
                        twin_close(&twin);
                }
}

/* One candidate: no critic is published, and nothing but the key differs. */
static void test_one(void) {
        Twin twin = {};
        PolicyLayout without;

        twin_open(&twin, "consistency", 1);
        g_assert_cmpuint(twin.bed.page.judge.n_layers, ==, 0);
        g_assert_cmpuint(twin.bed.page.policy.judges_at, ==, 0);
        g_assert_cmpint(policy_layout(&twin.bed.page.network, NULL, POLICY_BANKS, &without), ==, 0);
        g_assert_cmpuint(twin.bed.page.policy.bank_bytes, ==, without.bank_bytes);
        g_assert_cmpuint(forward_parameters(&twin.bed.page.network), ==, 2 * ACTIONS);
        for (uint32_t row = 0; row < ROWS; row++) {
                float got[2 * ACTIONS] = {}, alone[2 * ACTIONS] = {};
                ActordRandom random;

                stream_of(row, &random);
                forward_draw(twin.several, 0, &random);
                forward_row(twin.several, twin.observations[row], got);
                stream_of(row, &random);
                forward_draw(twin.alone, 0, &random);
                forward_row(twin.alone, twin.observations[row], alone);
                g_assert_cmpmem(got, sizeof(got), alone, sizeof(alone));
        }
        twin_close(&twin);
}

static Network chooser(uint32_t n) {
        return (Network){ .act = ACT_DIFFUSION,
                .passes = 1,
                .candidates = n,
                .n_action = 1,
                .action_low = -1,
                .action_high = 1 };
}

/* Candidate c of n has the share c / n. */
static uint32_t choice_of(uint32_t n, const float *values, bool deterministic, ActordRandom *random) {
        const Network network = chooser(n);
        float parameters[2 * CANDIDATES_MAX + 1] = {}, action;

        for (uint32_t c = 0; c < n; c++) {
                parameters[c] = (float) c / (float) n;
                parameters[n + 1 + c] = values[c];
        }
        action_sample(&network, parameters, deterministic, random, &action, NULL);
        return (uint32_t) lrintf(action * (float) n);
}

static void test_frequencies(void) {
        const float values[] = { 1, -2, NAN, 0.5f, INFINITY, 1, 2, -INFINITY };
        enum { N = G_N_ELEMENTS(values), DRAWS = 200000 };
        uint32_t n[N] = {};
        double all = 0, distance = 0;
        ActordRandom random;

        random_begin(&random, 5, RANDOM_ACTION, 0, 0, 0);
        for (int i = 0; i < DRAWS; i++)
                n[choice_of(N, values, false, &random)]++;
        for (int c = 0; c < N; c++)
                all += isfinite(values[c]) ? exp((double) values[c]) : 0;
        for (int c = 0; c < N; c++) {
                double expected = isfinite(values[c]) ? exp((double) values[c]) / all * DRAWS : 0;

                if (expected == 0)
                        g_assert_cmpuint(n[c], ==, 0);
                else
                        distance += ((double) n[c] - expected) * ((double) n[c] - expected) / expected;
        }
        /* chi-square with four degrees of freedom exceeds this once in 10,000 times */
        g_assert_cmpfloat(distance, <, 23.5);
        g_assert_cmpuint(choice_of(N, values, true, NULL), ==, 6);
}

/* Values that are not finite, far apart, or equal. */
static void test_values(void) {
        const float none[] = { NAN, INFINITY, -INFINITY, NAN }, last[] = { NAN, NAN, NAN, -3e38f };
        const float far[] = { -3e38f, 3e38f, -3e38f, 0 }, equal[] = { 2, 2, 2, 2 };
        ActordRandom random;

        random_begin(&random, 5, RANDOM_ACTION, 1, 0, 0);
        for (int i = 0; i < 100; i++) {
                g_assert_cmpuint(choice_of(4, none, false, &random), ==, 0);
                g_assert_cmpuint(choice_of(4, last, false, &random), ==, 3);
                g_assert_cmpuint(choice_of(4, far, false, &random), ==, 1);
        }
        g_assert_cmpuint(choice_of(4, none, true, NULL), ==, 0);
        g_assert_cmpuint(choice_of(4, last, true, NULL), ==, 3);
        g_assert_cmpuint(choice_of(4, equal, true, NULL), ==, 0);
}

/* A critic whose parameters are not finite decides nothing: then the first candidate acts. */
static void test_broken_critic(void) {
        Twin twin = {};
        float parameters[MOST], one[2 * ACTIONS], action[ACTIONS];
        ActordRandom random;
        float *at;

        twin_open(&twin, "consistency", 20);
        at = (float *) (uintptr_t) policy_judge(
                        bank_of(&twin), &twin.bed.page.policy, &twin.bed.page.judge, 1);
        for (uint64_t i = 0; i < twin.bed.page.judge.n_parameters; i++)
                at[i] = NAN;
        forward_load(twin.several, bank_of(&twin), &twin.bed.page.policy);
        stream_of(3, &random);
        forward_draw(twin.several, 0, &random);
        forward_row(twin.several, twin.observations[3], parameters);
        for (uint32_t c = 0; c < 20; c++)
                g_assert_true(isnan(parameters[20 * ACTIONS + 1 + c]));
        action_sample(&twin.bed.page.network, parameters, false, &random, action, NULL);

        stream_of(3, &random);
        forward_draw(twin.alone, 0, &random);
        forward_row(twin.alone, twin.observations[3], one);
        for (uint32_t i = 0; i < ACTIONS; i++)
                g_assert_cmpfloat(action[i], ==, (float) (BOUND * (double) one[i]));
        twin_close(&twin);
}

/* forward_new_judged() refuses networks that network_derive() and network_derive_judge() never make. */
static void test_impossible(void) {
        Twin twin = {};
        Network network, judge;
        Forward *forward = NULL;

        twin_open(&twin, "diffusion-ql", 4);
        network = twin.bed.page.network;
        judge = twin.bed.page.judge;
        g_assert_cmpint(forward_new(&network, &twin.spec, &forward), ==, -EINVAL);
        network.candidates = CANDIDATES_MAX + 1;
        g_assert_cmpint(forward_new_judged(&network, &judge, &twin.spec, &forward), ==, -EINVAL);
        network.candidates = 0;
        g_assert_cmpint(forward_new_judged(&network, &judge, &twin.spec, &forward), ==, -EINVAL);
        network.candidates = 4;
        judge.n_observation--;
        g_assert_cmpint(forward_new_judged(&network, &judge, &twin.spec, &forward), ==, -EINVAL);
        judge = twin.bed.page.judge;
        judge.layers[judge.n_layers - 1].output = OUTPUT_ACTION;
        g_assert_cmpint(forward_new_judged(&network, &judge, &twin.spec, &forward), ==, -EINVAL);
        judge = twin.bed.page.judge;
        judge.layers[0].bias_at = judge.n_parameters;
        g_assert_cmpint(forward_new_judged(&network, &judge, &twin.spec, &forward), ==, -EINVAL);
        judge.n_layers = 0;
        g_assert_cmpint(forward_new_judged(&network, &judge, &twin.spec, &forward), ==, -EINVAL);
        twin_close(&twin);
}

/* The noise of all candidates must fit into the scratch memory, however few units the layers have. */
static void test_size(void) {
        static const struct {
                uint32_t n_action, candidates;
                int expected;
        } cases[] = { { 400, 64, 0 }, { 500, 64, -E2BIG }, { 500, 50, 0 }, { 500, 1, 0 } };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *sections = g_strdup_printf(
                                "Algorithm=diffusion-ql\n[Learner]\nHiddenLayers=8\nCandidates=%u\n",
                                cases[i].candidates);
                ActordEnvSpec spec = bed_spec_box(4, cases[i].n_action, 0);
                g_autofree JobPage *page = g_new0(JobPage, 1);
                JobSettings settings;
                Forward *forward;

                bed_settings("CartPole-v1", sections, &settings);
                g_assert_cmpint(job_page_make(&settings, &spec, page), ==, cases[i].expected);
                if (cases[i].expected < 0)
                        continue;
                g_assert_cmpint(forward_new_judged(&page->network, &page->judge, &spec, &forward), ==, 0);
                (void) forward_free(forward);
        }
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/candidates/reference", test_reference);
        g_test_add_func("/candidates/one", test_one);
        g_test_add_func("/candidates/frequencies", test_frequencies);
        g_test_add_func("/candidates/values", test_values);
        g_test_add_func("/candidates/broken-critic", test_broken_critic);
        g_test_add_func("/candidates/impossible", test_impossible);
        g_test_add_func("/candidates/size", test_size);
        return g_test_run();
}
