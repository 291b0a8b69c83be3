/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests the gradient of each term of PPO's loss against finite differences of the loss, which is written
 * here a second time, in double precision and without tricks. The tests look at the gradient of a round's
 * second step, where ratios differ from 1 and some are clipped. */
#include "tests/unit/gradient-reference.h"
#include "tests/unit/learner-fixture.h"

static void observation_of(const Batch *b, size_t row, float *ret) {
        for (uint32_t k = 0; k < b->n_observation; k++)
                ret[k] = b->images ? (float) b->pixels[row * b->n_observation + k] / 255.0f
                                   : b->observations[row * b->n_observation + k];
}

/* A second implementation of the loss, for comparison. The caller has normalised the advantages, if the job
 * asks for it. */
static double reference_loss(const Bed *bed, const double *parameters, const double *advantages) {
        const JobSettings *s = &bed->settings;
        const Network *network = &bed->page.network;
        const Batch *b = bed->learner->batch;
        double storage[LAYERS_MAX][64], *outputs[LAYERS_MAX], loss = 0;
        float observation[64];
        uint32_t n = s->n_actors * b->step_rows;

        for (unsigned i = 0; i < LAYERS_MAX; i++)
                outputs[i] = storage[i];

        for (uint32_t i = 0; i < n; i++) {
                size_t row = batch_block(b, i / b->step_rows) + i % b->step_rows;
                double entropy, value, ratio, log_ratio, held, target = (double) b->target[row],
                                                               old = (double) b->value[row];

                observation_of(b, row, observation);
                reference_forward(network, parameters, observation, outputs);
                log_ratio = reference_log_probability(network, b, row, outputs, &entropy) -
                            (double) b->log_probability[row];
                ratio = exp(log_ratio);
                held = fmin(fmax(ratio, 1 - s->clip), 1 + s->clip);
                loss -= fmin(advantages[i] * ratio, advantages[i] * held);
                loss -= s->entropy_weight * entropy;
                loss += s->kl_weight * (ratio - 1 - log_ratio);

                value = outputs[network_find(network, OUTPUT_VALUE)][0];
                if (settings_present(s, SETTING_Learner_ValueClip)) {
                        double kept = old + fmin(fmax(value - old, -s->value_clip), s->value_clip);

                        loss += s->value_weight * fmax(pow(value - target, 2), pow(kept - target, 2)) / 2;
                } else
                        loss += s->value_weight * pow(value - target, 2) / 2;
        }
        return loss / n;
}

typedef struct Case {
        const char *name, *settings;
        uint32_t n_choices;
        uint32_t shape[3]; /* of an image; 0: the observation is three numbers */
        uint32_t element;
        uint32_t n_agents; /* 0 counts as 1 */
} Case;

static void learn_once(Bed *bed, const Case *c, unsigned epochs) {
        g_autofree char *sections = g_strdup_printf(
                        "[Scaling]\nActors=2\n[Actor]\nEnvsPerActor=3\nRolloutSteps=15\n"
                        "[Learner]\n%sUpdates=full-batch\nMinibatchSize=90\nLearningRate=0.1\nEpochs=%u\n"
                        "%s\n",
                        c->shape[0] > 0 ? "" : "HiddenLayers=5 4\n", epochs, c->settings);
        ActordEnvSpec spec = bed_spec_box(3, 2, c->n_choices);

        spec.horizon_steps = 9;
        spec.n_agents = MAX(c->n_agents, 1);
        if (c->shape[0] > 0) {
                spec.observation.element = c->element;
                spec.observation.n_dims = c->shape[2] > 0 ? 3 : 2;
                memcpy(spec.observation.shape, c->shape, sizeof(c->shape));
        }
        bed_start(bed, sections, &spec);
        bed_take_all(bed, 2, 0, 7);
        bed_learn(bed, 0, 2);
}

static void test_case(gconstpointer data) {
        const Case *c = data;
        Bed at = {}, after = {};
        const float *gradient;
        double advantages[90], parameters[512], greatest = 0;
        size_t n;

        /* `at` and `after` learn the same first step. `after` also learns a second step, whose gradient is
         * still in its runtime. */
        learn_once(&at, c, 1);
        learn_once(&after, c, 2);
        gradient = after.learner->runtime->gradients[0];
        n = at.page.network.n_parameters;
        g_assert_cmpuint(n, <=, G_N_ELEMENTS(parameters));
        bed_advantages(&after, advantages);
        g_assert_cmpfloat(after.learner->statistics.clip_fraction, >, 0.1);

        for (size_t i = 0; i < n; i++) {
                parameters[i] = (double) at.learner->runtime->nets[NET_POLICY]->parameters[i];
                greatest = fmax(greatest, fabs((double) gradient[i]));
        }
        g_assert_cmpfloat(greatest, >, 1e-3);
        for (size_t i = 0; i < n; i++) {
                const double h = 1e-6;
                double kept = parameters[i], up, down, expected;

                parameters[i] = kept + h;
                up = reference_loss(&after, parameters, advantages);
                parameters[i] = kept - h;
                down = reference_loss(&after, parameters, advantages);
                parameters[i] = kept;
                expected = (up - down) / (2 * h);
                if (fabs(expected - (double) gradient[i]) > 1e-4 * greatest)
                        g_error("parameter %zu: the gradient is %g, differences say %g", i,
                                        (double) gradient[i], expected);
        }
        bed_close(&at);
        bed_close(&after);
}

/* The policy's gradient goes through a critic whose first layer has far more units than inputs. */
static void test_wide(void) {
        ActordEnvSpec spec = bed_spec_box(3, 2, 0);
        Bed bed = {};

        bed_start(&bed,
                        "Algorithm=ddpg\n[Actor]\nEnvsPerActor=2\nRolloutSteps=8\n[Learner]\n"
                        "HiddenLayers=1100 4\nReplayMin=1\nMinibatchSize=16\nTrainRatio=0.125\n"
                        "PolicyDelay=1\n",
                        &spec);
        bed_take_all(&bed, 1, 0, 0);
        bed_learn(&bed, 0, 1);
        g_assert_cmpuint(bed.learner->runtime->nets[NET_POLICY]->step, ==, 2);
        bed_close(&bed);
}

int main(int argc, char *argv[]) {
        static const Case cases[] = {
                { "discrete", "", 3 },
                { "discrete-shared", "SharedNetwork=yes", 3 },
                { "discrete-relu", "Activation=relu", 3 },
                { "discrete-silu", "Activation=silu", 3 },
                { "gaussian-mish-shared", "Activation=mish\nSharedNetwork=yes", 0 },
                { "discrete-entropy", "EntropyWeight=0.3\nValueWeight=0", 3 },
                { "discrete-value-clip", "ValueClip=0.05\nValueWeight=2", 3 },
                { "discrete-kl", "KLWeight=0.7", 3 },
                { "gaussian", "", 0 },
                { "gaussian-shared", "SharedNetwork=yes\nEntropyWeight=0.1", 0 },
                { "gaussian-raw-advantages", "NormalizeAdvantages=no", 0 },
                { "gaussian-normalised", "NormalizeObservations=yes\nNormalizeRewards=yes", 0 },
                { "gaussian-everything",
                                "SharedNetwork=yes\nValueClip=0.1\nKLWeight=0.3\nEntropyWeight=0.05\n"
                                "MaxGradNorm=0",
                                0 },
                { "mappo", "[Job]\nAlgorithm=mappo", 3, .n_agents = 3 },
                { "convolution", "Convolutions=3x3/2+1 4x2\nHiddenLayers=4\nSharedNetwork=yes\nClip=0.1", 3,
                                { 2, 5, 5 }, ACTORD_F32 },
                { "convolution-channels-last", "Convolutions=2x3/1 3x2/2+1\nHiddenLayers=3", 3, { 5, 6, 2 },
                                ACTORD_F32 },
                { "convolution-bytes", "Convolutions=3x3/2 4x2/1+1\nHiddenLayers=0\nSharedNetwork=yes", 3,
                                { 6, 5, 0 }, ACTORD_U8 },
                { "convolution-gaussian", "Convolutions=4x3/1\nHiddenLayers=5\nSharedNetwork=yes", 0,
                                { 4, 4, 0 }, ACTORD_U8 },
                { "convolution-relu",
                                "Convolutions=4x3/1\nHiddenLayers=5\nSharedNetwork=yes\nActivation=relu", 0,
                                { 4, 4, 0 }, ACTORD_F32 },
                { "convolution-mish",
                                "Convolutions=3x3/2+1 4x2\nHiddenLayers=4\nSharedNetwork=yes\nClip=0.05\n"
                                "Activation=mish",
                                3, { 2, 5, 5 }, ACTORD_F32 },
        };

        g_test_init(&argc, &argv, NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *path = g_strdup_printf("/gradient/%s", cases[i].name);

                g_test_add_data_func(path, &cases[i], test_case);
        }
        g_test_add_func("/gradient/wide", test_wide);
        return g_test_run();
}
