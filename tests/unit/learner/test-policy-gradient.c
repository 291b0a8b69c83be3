/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests the gradient of the loss that A2C and IMPALA descend, against finite differences of the same loss,
 * which is written a second time here. Each algorithm takes one gradient step, so that the batch still has
 * the data of this step. */
#include "tests/unit/gradient-reference.h"

typedef struct Case {
        const char *name, *settings;
        uint32_t n_choices;
} Case;

enum { ROWS = 90 };

typedef struct Given {
        const Bed *bed;
        const double *advantages;
} Given;

static double reference_loss(const void *arg, const double *parameters) {
        const Bed *bed = ((const Given *) arg)->bed;
        const double *advantages = ((const Given *) arg)->advantages;
        const JobSettings *s = &bed->settings;
        const Network *network = &bed->page.network;
        const Batch *b = bed->learner->batch;
        double storage[LAYERS_MAX][32], *outputs[LAYERS_MAX], loss = 0;

        for (unsigned i = 0; i < LAYERS_MAX; i++)
                outputs[i] = storage[i];

        for (uint32_t i = 0; i < ROWS; i++) {
                size_t row = batch_block(b, i / b->step_rows) + i % b->step_rows;
                double entropy, error;

                reference_forward(network, parameters, b->observations + row * b->n_observation, outputs);
                loss -= advantages[i] * reference_log_probability(network, b, row, outputs, &entropy);
                loss -= s->entropy_weight * entropy;
                error = outputs[network_find(network, OUTPUT_VALUE)][0] - (double) b->target[row];
                loss += s->value_weight * error * error / 2;
        }
        return loss / ROWS;
}

static void learn_once(Bed *bed, const Case *c, double rate) {
        g_autofree char *sections =
                        g_strdup_printf("[Scaling]\nActors=2\n[Actor]\nEnvsPerActor=3\nRolloutSteps=15\n"
                                        "[Learner]\nHiddenLayers=5 4\nLearningRate=%g\n%s\n",
                                        rate, c->settings);
        ActordEnvSpec spec = bed_spec_box(3, 2, c->n_choices);

        spec.horizon_steps = 9;
        bed_start(bed, sections, &spec);
        bed_take_all(bed, 2, 0, 7);
        bed_learn(bed, 0, 2);
}

static void test_case(gconstpointer data) {
        double advantages[ROWS], parameters[512];
        Bed bed = {};
        size_t n;

        learn_once(&bed, data, 0); /* with LearningRate=0 the step does not change the parameters */
        n = bed.page.network.n_parameters;
        g_assert_cmpuint(n, <=, G_N_ELEMENTS(parameters));
        bed_advantages(&bed, advantages);
        for (size_t i = 0; i < n; i++)
                parameters[i] = (double) bed.learner->runtime->nets[NET_POLICY]->parameters[i];
        differences_check(bed.learner->runtime->gradients[0], parameters, n, reference_loss,
                        &(Given){ &bed, advantages });
        bed_close(&bed);
}

int main(int argc, char *argv[]) {
        static const Case cases[] = {
                { "a2c-discrete", "[Job]\nAlgorithm=a2c", 3 },
                { "a2c-several", "EntropyWeight=0.3\n[Job]\nAlgorithm=a2c", BED_SEVERAL },
                { "a2c-gaussian", "EntropyWeight=0.1\n[Job]\nAlgorithm=a2c", 0 },
                { "a2c-shared", "NormalizeAdvantages=no\nSharedNetwork=yes\n[Job]\nAlgorithm=a2c", 3 },
                { "impala-discrete", "EntropyWeight=0.2\nUpdates=full-batch\n[Job]\nAlgorithm=impala", 3 },
                { "impala-several", "EntropyWeight=0.2\nUpdates=full-batch\n[Job]\nAlgorithm=impala",
                                BED_SEVERAL },
                { "impala-gaussian", "NormalizeAdvantages=no\nUpdates=full-batch\n[Job]\nAlgorithm=impala",
                                0 },
        };

        g_test_init(&argc, &argv, NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *path = g_strdup_printf("/policy-gradient/%s", cases[i].name);

                g_test_add_data_func(path, &cases[i], test_case);
        }
        return g_test_run();
}
