/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* PPO as a whole: the figures of its first minibatch, how a round is divided into minibatches, when a round
 * stops, what schedules change, and that PPO learns. */
#include "tests/unit/bandit-fixture.h"

#include "lib/forward.h"
#include "lib/rng.h"

static Answer learn_filled(Bed *bed, const char *learner, uint32_t n_choices, uint32_t n_actors) {
        g_autofree char *sections = g_strdup_printf(
                        "[Scaling]\nActors=%u\n[Actor]\nEnvsPerActor=4\nRolloutSteps=32\n[Learner]\n%s\n",
                        n_actors, learner);
        ActordEnvSpec spec = bed_spec_box(3, 2, n_choices);

        spec.horizon_steps = 25;
        bed_start(bed, sections, &spec);
        bed_take_all(bed, n_actors, 0, 1);
        return bed_learn(bed, 0, n_actors);
}

/* In the first gradient step the policy has not changed yet: each ratio is 1, nothing is clipped, the
 * divergence is 0, and the policy's loss is 0, since the mean of normalised advantages is 0. */
static void test_first(void) {
        for (uint32_t n_choices = 0; n_choices < 4; n_choices += 3) {
                Bed bed = {};
                Answer learned = learn_filled(&bed,
                                "Epochs=1\nMinibatchSize=128\nEntropyWeight=0.1\nNormalizeObservations=yes",
                                n_choices, 1);

                g_assert_cmpfloat(learned.statistics.kl, <, 1e-9);
                g_assert_cmpfloat(learned.statistics.clip_fraction, ==, 0);
                g_assert_cmpfloat(fabs(learned.statistics.loss_policy), <, 1e-6);
                g_assert_cmpfloat(learned.statistics.loss_value, >, 0);
                g_assert_cmpfloat(learned.statistics.gradient_norm, >, 0);
                if (n_choices > 0)
                        g_assert_cmpfloat_with_epsilon(learned.statistics.entropy, log(3), 1e-3);
                bed_close(&bed);
        }
}

/* A clip that is wider than all changes of values leaves each bit of the policy as it is. */
static void test_wide_value_clip(void) {
        uint8_t plain[32];

        for (int clipped = 0; clipped < 2; clipped++) {
                Bed bed = {};
                Answer learned = learn_filled(&bed,
                                clipped ? "Epochs=4\nMinibatchSize=32\nValueClip=1000"
                                        : "Epochs=4\nMinibatchSize=32",
                                3, 2);

                if (clipped)
                        g_assert_cmpmem(learned.sha256, 32, plain, 32);
                memcpy(plain, learned.sha256, sizeof(plain));
                bed_close(&bed);
        }
}

static uint64_t steps_of(const char *learner, uint32_t n_actors) {
        Bed bed = {};
        uint64_t n;

        learn_filled(&bed, learner, 3, n_actors);
        n = bed.learner->runtime->nets[NET_POLICY]->step;
        bed_close(&bed);
        return n;
}

static void test_updates(void) {
        g_assert_cmpuint(steps_of("Epochs=2\nMinibatchSize=32", 1), ==, 2 * 4);
        g_assert_cmpuint(steps_of("Epochs=2\nMinibatchSize=32", 3), ==, 2 * 12);
        /* With 50 rows in a minibatch, the last minibatch of an epoch is smaller. */
        g_assert_cmpuint(steps_of("Epochs=2\nMinibatchSize=50", 1), ==, 2 * 3);
        g_assert_cmpuint(steps_of("Epochs=2\nMinibatchSize=32\nUpdates=per-round", 1), ==, 2 * 4);
        g_assert_cmpuint(steps_of("Epochs=2\nMinibatchSize=32\nUpdates=per-round", 3), ==, 2 * 4);
        g_assert_cmpuint(steps_of("Epochs=2\nMinibatchSize=32\nUpdates=full-batch", 3), ==, 2);
}

static void test_kl_stop(void) {
        g_assert_cmpuint(steps_of("Epochs=50\nMinibatchSize=128\nLearningRate=0.01", 1), ==, 50);
        g_assert_cmpuint(steps_of("Epochs=50\nMinibatchSize=128\nLearningRate=0.01\nKLStop=0.01", 1), <, 20);
        g_assert_cmpuint(steps_of("Epochs=50\nMinibatchSize=128\nLearningRate=0.01\nKLStop=0.01", 1), >, 1);
}

/* A divergence above KLTarget= makes the KL weight grow, and a divergence below it makes the weight
 * shrink. */
static void test_kl_weight(void) {
        Bed bed = {};

        learn_filled(&bed, "Epochs=20\nMinibatchSize=128\nLearningRate=0.05\nKLWeight=1\nKLTarget=0.0001", 3,
                        1);
        g_assert_cmpfloat(bed.learner->runtime->state[0], ==, 2);
        bed_close(&bed);
        bed = (Bed){};
        learn_filled(&bed, "Epochs=1\nMinibatchSize=128\nLearningRate=0.0001\nKLWeight=1\nKLTarget=10", 3,
                        1);
        g_assert_cmpfloat(bed.learner->runtime->state[0], ==, 0.5);
        bed_close(&bed);
}

/* If KLStop= ends a round, the policy has diverged by more than KLStop=, in whichever epoch that was. The
 * next KL weight follows from this divergence. */
static void test_kl_stop_weight(void) {
        static const struct {
                const char *minibatch, *target;
                uint64_t n_steps; /* at most */
                double weight;
        } cases[] = {
                /* Stops in the first epoch, before any epoch has a mean divergence. */
                { "32", "0.005", 3, 2 },
                { "32", "10", 3, 0.5 },
                /* Stops in the second epoch. The first epoch was one step, so its mean divergence is 0. */
                { "128", "0.005", 1, 2 },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *learner =
                                g_strdup_printf("Epochs=20\nLearningRate=0.05\nKLStop=0.01\nKLWeight=1\n"
                                                "MinibatchSize=%s\nKLTarget=%s",
                                                cases[i].minibatch, cases[i].target);
                Bed bed = {};

                learn_filled(&bed, learner, 3, 1);
                g_assert_cmpuint(bed.learner->runtime->nets[NET_POLICY]->step, <=, cases[i].n_steps);
                g_assert_cmpfloat(bed.learner->runtime->state[0], ==, cases[i].weight);
                bed_close(&bed);
        }
}

/* A linear schedule begins at the full learning rate and reaches 0 at StopSteps=. */
static void test_schedules(void) {
        Bed bed = {};
        Answer learned = learn_filled(&bed,
                        "Epochs=1\nMinibatchSize=128\nLearningRate=0.01\nLearningRateSchedule=linear\n"
                        "[Job]\nStopSteps=512",
                        3, 1);

        g_assert_cmpfloat(learned.statistics.learning_rate, ==, 0.01);
        for (uint32_t round = 1; round < 5; round++) {
                bed_fill(&bed, 0, round & 1, round);
                bed_take(&bed, 0, round & 1);
                learned = bed_learn(&bed, round, 1);
                g_assert_cmpfloat_with_epsilon(
                                learned.statistics.learning_rate, fmax(0, 0.01 * (1 - 0.25 * round)), 1e-12);
        }
        bed_close(&bed);
}

/* MaxGradNorm= limits the length of the gradient. Adam's first moment shows the gradient after the limit. */
static void test_norm(void) {
        Bed bed = {};
        Answer learned = learn_filled(&bed, "Epochs=1\nMinibatchSize=128\nMaxGradNorm=0.001", 3, 1);
        const Adam *net = bed.learner->runtime->nets[NET_POLICY];
        double squares = 0.0;

        for (size_t i = 0; i < net->n; i++)
                squares += (double) net->m[i] * (double) net->m[i];
        g_assert_cmpfloat(learned.statistics.gradient_norm, >, 0.01);
        g_assert_cmpfloat_with_epsilon(sqrt(squares) / 0.1, 0.001, 1e-6);
        bed_close(&bed);
}

/* Rewards that are hostile, though within all bounds, must end in a fault, not in a policy of NaNs. */
static void test_numeric(void) {
        g_autofree char *sections =
                        g_strdup("[Actor]\nEnvsPerActor=2\nRolloutSteps=32\n[Learner]\nHiddenLayers=4\n"
                                 "MinibatchSize=64\n");
        ActordEnvSpec spec = bed_spec_box(3, 2, 3);
        Bed bed = {};
        Answer learned;

        bed_start(&bed, sections, &spec);
        bed_fill(&bed, 0, 0, 1);
        segment_rewards(bed.segments[0], &bed.page.segment)[7] = 3e38;
        bed_take(&bed, 0, 0);
        learned = bed_order(&bed, (Order){ .kind = ORDER_LEARN, .round = 1, .ordinal = 3, .n_actors = 1 });
        g_assert_cmpuint(learned.fault, ==, FAULT_NUMERIC);
        g_assert_cmpint(learned.detail, ==, 3);
        bed_close(&bed);
}

/* A gradient that is finite may have squares that are not. Adam's second moment stays finite, since a
 * checkpoint would be refused otherwise. */
static void test_long(void) {
        static const struct {
                double reward;
                unsigned value_weight;
                uint32_t fault;
        } cases[] = { { 1e16, 1, FAULT_NONE }, { 1e17, 1000, FAULT_NUMERIC } };

        for (size_t k = 0; k < G_N_ELEMENTS(cases); k++) {
                g_autofree char *sections = g_strdup_printf(
                                "[Actor]\nEnvsPerActor=2\nRolloutSteps=32\n[Learner]\nHiddenLayers=4\n"
                                "MinibatchSize=64\nMaxGradNorm=0\nValueWeight=%u\n",
                                cases[k].value_weight);
                ActordEnvSpec spec = bed_spec_box(3, 2, 3);
                Bed bed = {};
                const Adam *net;
                Answer learned;

                bed_start(&bed, sections, &spec);
                bed_fill(&bed, 0, 0, 1);
                for (unsigned i = 0; i < 64; i++)
                        segment_rewards(bed.segments[0], &bed.page.segment)[i] = cases[k].reward;
                bed_take(&bed, 0, 0);
                learned = bed_order(&bed, (Order){ .kind = ORDER_LEARN, .round = 1, .n_actors = 1 });
                g_assert_cmpuint(learned.fault, ==, cases[k].fault);
                net = bed.learner->runtime->nets[NET_POLICY];
                for (size_t i = 0; i < net->n; i++)
                        g_assert_true(isfinite(net->v[i]));
                bed_close(&bed);
        }
}

/* Makes a network whose action is the value of another network, since actors compute only what an action
 * needs. */
static Network value_as_action(const Network *network) {
        Network ret = *network;

        for (uint32_t i = 0; i < ret.n_layers; i++)
                ret.layers[i].output = ret.layers[i].output == OUTPUT_VALUE ? OUTPUT_ACTION : OUTPUT_HIDDEN;
        ret.act = ACT_EPSILON_GREEDY;
        ret.n_action = 1;
        return ret;
}

/* Compares the values and the log-probabilities of a batch's rows with those that an actor computes, row by
 * row: the values have the same bits, and the log-probabilities differ by rounding alone. */
static void check_rows(Bed *bed, double epsilon) {
        const Network *network = &bed->page.network, of_value = value_as_action(network);
        const Batch *b = bed->learner->batch;
        float parameters[8], value[2];
        Forward *policy, *valued;

        g_assert_cmpint(forward_new(network, &bed->page.spec, &policy), ==, 0);
        g_assert_cmpint(forward_new(&of_value, &bed->page.spec, &valued), ==, 0);
        /* The policy of version 0 is in bank 0 until the next round, and normalises nothing. */
        forward_load(policy, bed->policy, &bed->page.policy);
        forward_load(valued, bed->policy, &bed->page.policy);
        for (uint32_t row = 0; row < b->step_rows; row++) {
                const void *observation = segment_observation(bed->segments[0], &bed->page.segment, row);
                const void *action = segment_action(bed->segments[0], &bed->page.segment, row);

                forward_row(policy, observation, parameters);
                forward_row(valued, observation, value);
                g_assert_true(value[0] == b->value[row]);
                g_assert_cmpfloat_with_epsilon(action_log_probability(network, parameters, action),
                                b->log_probability[row], epsilon);
        }
        (void) forward_free(policy);
        (void) forward_free(valued);
}

static void test_forward(void) {
        for (uint32_t n_choices = 0; n_choices < 4; n_choices += 3) {
                Bed bed = {};

                learn_filled(&bed, "Epochs=1\nMinibatchSize=128\nLearningRate=0\nNormalizeObservations=yes",
                                n_choices, 1);
                check_rows(&bed, 1e-4);
                bed_close(&bed);
        }
}

/* check_rows() for observations that are images, with channels last, and for a network with convolutions. */
static void test_forward_images(void) {
        ActordEnvSpec spec = bed_spec_box(1, 1, 3);
        const Batch *b;
        Bed bed = {};

        spec.observation = (ActordSpace){
                .kind = ACTORD_BOX, .element = ACTORD_U8, .n_dims = 3, .shape = { 20, 17, 3 }, .high = 255
        };
        bed_start(&bed,
                        "[Actor]\nEnvsPerActor=4\nRolloutSteps=30\n[Learner]\nConvolutions=16x5/2+1 20x3/2\n"
                        "HiddenLayers=30\n"
                        "Activation=relu\nEpochs=1\nMinibatchSize=120\nLearningRate=0\nSharedNetwork=yes\n",
                        &spec);
        bed_fill(&bed, 0, 0, 1);
        bed_take(&bed, 0, 0);
        bed_learn(&bed, 0, 1);

        b = bed.learner->batch;
        g_assert_null(b->observations);
        for (uint32_t row = 0; row < b->step_rows; row++)
                g_assert_cmpmem(batch_observation(b, row), 1020,
                                segment_observation(bed.segments[0], &bed.page.segment, row), 1020);
        check_rows(&bed, 1e-5);
        bed_close(&bed);
}

static void test_bandit(void) {
        for (uint32_t n_choices = 0; n_choices < 3; n_choices += 2) {
                ActordEnvSpec spec = bed_spec_box(1, 1, n_choices);
                Forward *forward;
                Answer learned = {};
                double first = NAN;
                Bed bed = {};

                bed_start(&bed,
                                "[Actor]\nEnvsPerActor=8\nRolloutSteps=16\n[Learner]\nHiddenLayers=16\n"
                                "Epochs=4\nMinibatchSize=64\nLearningRate=0.01\n",
                                &spec);
                g_assert_cmpint(forward_new(&bed.page.network, &spec, &forward), ==, 0);
                for (uint32_t update = 0; update < 80; update++) {
                        play_bandit(&bed, forward, update);
                        bed_take(&bed, 0, update & 1);
                        learned = bed_learn(&bed, update, 1);
                        if (update == 0)
                                first = learned.statistics.return_mean;
                }
                g_test_message("return %g, then %g", first, learned.statistics.return_mean);
                g_assert_cmpfloat(learned.statistics.return_mean, >, n_choices > 0 ? 0.95 : 0.85);
                g_assert_cmpfloat(first, <, 0.7);
                forward_free(forward);
                bed_close(&bed);
        }
}

/* The rows, or the columns, of a new layer are orthogonal, and each has the layer's gain as its length. */
static void test_init(void) {
        ActordEnvSpec spec = bed_spec_box(11, 3, 0);
        Bed bed = {};

        bed_settings("CartPole-v1", "[Learner]\nLogStdInit=-1\n", &bed.settings);
        bed_open(&bed, &spec, -1, -1);
        for (uint32_t i = 0; i < bed.page.network.n_layers; i++) {
                const Layer *l = &bed.page.network.layers[i];
                const float *w = bed.learner->runtime->nets[NET_POLICY]->parameters + l->weight_at;
                bool wide = l->n_out <= l->n_in;
                uint32_t rows = wide ? l->n_out : l->n_in, n = wide ? l->n_in : l->n_out;

                if (l->kind == LAYER_PARAMETER) {
                        for (uint32_t o = 0; o < l->n_out; o++)
                                g_assert_cmpfloat(w[o], ==, -1);
                        continue;
                }
                for (uint32_t a = 0; a < rows; a++)
                        for (uint32_t b = 0; b < rows; b++) {
                                double sum = 0;

                                for (uint32_t k = 0; k < n; k++)
                                        sum += (double) w[wide ? a * l->n_in + k : k * l->n_in + a] *
                                               (double) w[wide ? b * l->n_in + k : k * l->n_in + b];
                                g_assert_cmpfloat_with_epsilon(
                                                sum, a == b ? l->init_gain * l->init_gain : 0, 1e-6);
                        }
        }
        bed_close(&bed);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/ppo/first", test_first);
        g_test_add_func("/ppo/wide-value-clip", test_wide_value_clip);
        g_test_add_func("/ppo/updates", test_updates);
        g_test_add_func("/ppo/kl-stop", test_kl_stop);
        g_test_add_func("/ppo/kl-weight", test_kl_weight);
        g_test_add_func("/ppo/kl-stop-weight", test_kl_stop_weight);
        g_test_add_func("/ppo/schedules", test_schedules);
        g_test_add_func("/ppo/norm", test_norm);
        g_test_add_func("/ppo/numeric", test_numeric);
        g_test_add_func("/ppo/long", test_long);
        g_test_add_func("/ppo/forward", test_forward);
        g_test_add_func("/ppo/forward-images", test_forward_images);
        g_test_add_func("/ppo/bandit", test_bandit);
        g_test_add_func("/ppo/init", test_init);
        return g_test_run();
}
