/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests REBEL's regression. If the data has every pair of actions, the policy becomes the one that the paper
 * derives. The gradient equals finite differences of the loss, which is written here a second time. */
#include "tests/unit/gradient-reference.h"

/* A case with an exact solution: an action is one of CHOICES choices, each pair of choices occurs once, and
 * each episode has one step. */

enum { CHOICES = 4 };

static const double rewards[CHOICES] = { 0.5, -1.0, 1.25, 0.0 };

static void fill_choices(Bed *bed) {
        const SegmentLayout *l = &bed->page.segment;
        void *segment = bed->segments[0];

        for (uint64_t row = 0; row < (uint64_t) (l->steps + 1) * l->envs; row++)
                *(float *) segment_observation(segment, l, row) = 1.0f;
        for (uint32_t t = 0; t < l->steps; t++)
                for (uint32_t e = 0; e < 2; e++) {
                        int32_t choice = (int32_t) (e == 0 ? t / CHOICES : t % CHOICES);

                        *(int32_t *) segment_action(segment, l, 2 * t + e) = choice;
                        segment_rewards(segment, l)[2 * t + e] = rewards[choice];
                        segment_log_probabilities(segment, l)[2 * t + e] = -1.0f;
                        segment_ends(segment, l)[2 * t + e] = END_TERMINATED;
                }
        for (uint32_t e = 0; e < 2; e++)
                segment_snapshot(segment, l, 1, e)->episode = 1 + l->steps;
}

static void probabilities_read(const Bed *bed, double ret[CHOICES]) {
        const Network *network = &bed->page.network;
        const float *from = bed->learner->runtime->nets[NET_POLICY]->parameters, one = 1.0f;
        double storage[LAYERS_MAX][32], *outputs[LAYERS_MAX], parameters[256], sum = 0;
        const double *logits;

        g_assert_cmpuint(network->n_parameters, <=, G_N_ELEMENTS(parameters));
        for (size_t i = 0; i < network->n_parameters; i++)
                parameters[i] = (double) from[i];
        for (unsigned i = 0; i < LAYERS_MAX; i++)
                outputs[i] = storage[i];
        reference_forward(network, parameters, &one, outputs);
        logits = outputs[network_find(network, OUTPUT_ACTION)];
        for (unsigned a = 0; a < CHOICES; a++)
                sum += ret[a] = exp(logits[a]);
        for (unsigned a = 0; a < CHOICES; a++)
                ret[a] /= sum;
}

/* The loss has its minimum at q exp(eta r), normalised, where q is the policy that acted and r the reward.
 * With a large AdamEpsilon, Adam is gradient descent with momentum, which comes to rest at the minimum. */
static void test_exact(gconstpointer eta_text) {
        double eta = g_ascii_strtod(eta_text, NULL), expected[CHOICES], is[CHOICES], sum = 0, divergence = 0;
        ActordEnvSpec spec = bed_spec_box(1, 1, CHOICES);
        g_autofree char *sections =
                        g_strdup_printf("Algorithm=rebel\n[Actor]\nEnvsPerActor=2\nRolloutSteps=%d\n"
                                        "[Learner]\nEta=%s\nEpochs=4000\nLearningRate=%g\nAdamEpsilon=1\n"
                                        "MaxGradNorm=0\nHiddenLayers=8\n",
                                        CHOICES * CHOICES, (const char *) eta_text, 0.2 * eta * eta);
        Bed bed = {};

        bed_start(&bed, sections, &spec);
        /* Begins with a policy that is not uniform. */
        for (size_t i = 0; i < bed.page.network.n_parameters; i++)
                bed.learner->runtime->nets[NET_POLICY]->parameters[i] += 0.3f * sinf((float) i);
        probabilities_read(&bed, expected);
        for (unsigned a = 0; a < CHOICES; a++)
                sum += expected[a] *= exp(eta * rewards[a]);

        fill_choices(&bed);
        bed_take(&bed, 0, 0);
        bed_learn(&bed, 0, 1);
        probabilities_read(&bed, is);
        for (unsigned a = 0; a < CHOICES; a++)
                divergence += is[a] * log(is[a] / (expected[a] / sum));
        g_test_message("divergence from the exponential update: %g", divergence);
        g_assert_cmpfloat(fabs(divergence), <, 1e-8);
        bed_close(&bed);
}

/* The gradient */

enum { STEPS = 15, ENVS = 4, PAIR_STEPS = 6, PARAMETERS_MAX = 512 };

typedef struct Case {
        const char *name;
        uint32_t n_choices;
} Case;

typedef struct Given {
        const Bed *bed;
        const double *old;
} Given;

static double log_probability(const Bed *bed, const double *parameters, size_t row) {
        const Batch *b = bed->learner->batch;
        double storage[LAYERS_MAX][32], *outputs[LAYERS_MAX], entropy;

        for (unsigned i = 0; i < LAYERS_MAX; i++)
                outputs[i] = storage[i];
        reference_forward(&bed->page.network, parameters, b->observations + row * b->n_observation, outputs);
        return reference_log_probability(&bed->page.network, b, row, outputs, &entropy);
}

/* The squared error of the pair that begins in this row; *ret_length: how long the longer rollout is. */
static double pair_error(const Given *given, const double *parameters, size_t row, uint32_t left,
                uint32_t *ret_length) {
        const Bed *bed = given->bed;
        const Batch *b = bed->learner->batch;
        double difference = 0, log_ratio = 0, error;

        *ret_length = 0;
        for (uint32_t partner = 0; partner < 2; partner++) {
                double sign = partner == 0 ? 1 : -1, discount = 1;
                uint32_t t = 0;

                for (bool ended = false; t < left && t < PAIR_STEPS && !ended; t++) {
                        size_t at = row + t * ENVS + partner;

                        difference += sign * discount * b->rewards[at];
                        log_ratio += sign * (log_probability(bed, parameters, at) -
                                                            log_probability(bed, given->old, at));
                        discount *= bed->settings.gamma;
                        ended = b->ends[at] != END_NOT;
                }
                *ret_length = t > *ret_length ? t : *ret_length;
        }
        error = log_ratio / bed->settings.eta - difference;
        return error * error;
}

static double reference_loss(const void *arg, const double *parameters) {
        const Batch *b = ((const Given *) arg)->bed->learner->batch;
        double sum = 0;
        uint32_t n = 0;

        for (uint32_t a = 0; a < 2; a++)
                for (uint32_t e = 0; e < ENVS; e += 2)
                        for (uint32_t t = 0, length; t < STEPS; t += length, n++)
                                sum += pair_error(arg, parameters, batch_block(b, a) + t * ENVS + e,
                                                STEPS - t, &length);
        return sum / n;
}

static void bed_begin(Bed *bed, const Case *c, uint32_t n_epochs) {
        g_autofree char *sections = g_strdup_printf(
                        "Algorithm=rebel\n[Scaling]\nActors=2\n"
                        "[Actor]\nEnvsPerActor=%d\nRolloutSteps=%d\nPairSteps=%d\n"
                        "[Learner]\nHiddenLayers=5 4\nEta=0.7\nLearningRate=0.02\nEpochs=%u\n",
                        ENVS, STEPS, PAIR_STEPS, n_epochs);
        ActordEnvSpec spec = bed_spec_box(3, 2, c->n_choices);

        spec.horizon_steps = 9;
        bed_start(bed, sections, &spec);
        bed_take_all(bed, 2, 0, 7);
}

static void parameters_read(const Bed *bed, double ret[PARAMETERS_MAX]) {
        g_assert_cmpuint(bed->page.network.n_parameters, <=, PARAMETERS_MAX);
        for (size_t i = 0; i < bed->page.network.n_parameters; i++)
                ret[i] = (double) bed->learner->runtime->nets[NET_POLICY]->parameters[i];
}

/* At the second step the policy is no longer the one that acted. The gradient of that step belongs to the
 * parameters after one step, which a second learner with the same seed has. */
static void test_differences(gconstpointer data) {
        double old[PARAMETERS_MAX], moved[PARAMETERS_MAX];
        Bed bed = {}, once = {};

        bed_begin(&once, data, 1);
        parameters_read(&once, old);
        bed_learn(&once, 0, 2);
        parameters_read(&once, moved);
        bed_close(&once);

        bed_begin(&bed, data, 2);
        bed_learn(&bed, 0, 2);
        differences_check(bed.learner->runtime->gradients[0], moved, bed.page.network.n_parameters,
                        reference_loss, &(Given){ &bed, old });
        bed_close(&bed);
}

/* REBEL has no critic, and so no parameters for one. */
static void test_network(void) {
        static const Case discrete = { "discrete", 3 };
        Bed bed = {};

        bed_begin(&bed, &discrete, 1);
        g_assert_cmpuint(network_find(&bed.page.network, OUTPUT_VALUE), ==, UINT32_MAX);
        g_assert_cmpuint(bed.page.network.n_parameters, ==, 3 * 5 + 5 + 5 * 4 + 4 + 4 * 3 + 3);
        bed_close(&bed);
}

int main(int argc, char *argv[]) {
        static const Case cases[] = { { "discrete", 3 }, { "several", BED_SEVERAL }, { "gaussian", 0 } };

        g_test_init(&argc, &argv, NULL);
        g_test_add_data_func("/rebel/exact/eta-1", "1", test_exact);
        g_test_add_data_func("/rebel/exact/eta-0.4", "0.4", test_exact);
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *path = g_strdup_printf("/rebel/differences/%s", cases[i].name);

                g_test_add_data_func(path, &cases[i], test_differences);
        }
        g_test_add_func("/rebel/network", test_network);
        return g_test_run();
}
