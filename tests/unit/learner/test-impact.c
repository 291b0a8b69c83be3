/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* IMPACT: the gradient of its loss against finite differences, while the policy differs from its target
 * network; the steps at which the target follows; and the content of the buffer. */
#include "tests/unit/gradient-reference.h"

enum { ROWS = 90 };

typedef struct Case {
        const char *name, *settings;
        uint32_t n_choices;
} Case;

static void open_bed(Bed *bed, const Case *c, unsigned n_passes) {
        g_autofree char *sections = g_strdup_printf(
                        "Algorithm=impact\n[Scaling]\nActors=2\n[Actor]\nEnvsPerActor=3\nRolloutSteps=15\n"
                        "[Learner]\nHiddenLayers=5 4\nUpdates=full-batch\nNormalizeAdvantages=no\n"
                        "LearningRate=0.1\nEpochs=%u\n%s\n",
                        n_passes, c->settings);
        ActordEnvSpec spec = bed_spec_box(3, 2, c->n_choices);

        spec.horizon_steps = 9;
        bed_start(bed, sections, &spec);
}

static void learn(Bed *bed, uint32_t round) {
        bed_take_all(bed, 2, round & 1, round);
        bed_learn(bed, round, 2);
}

static double reference_loss(const void *arg, const double *parameters) {
        const Bed *bed = arg;
        const JobSettings *s = &bed->settings;
        const Network *network = &bed->page.network;
        const Batch *b = bed->learner->runtime->batch;
        double storage[LAYERS_MAX][32], *outputs[LAYERS_MAX], loss = 0;

        for (unsigned i = 0; i < LAYERS_MAX; i++)
                outputs[i] = storage[i];

        for (uint32_t i = 0; i < ROWS; i++) {
                size_t row = batch_block(b, i / b->step_rows) + i % b->step_rows;
                double behaviour = (double) b->behaviour_log_probability[row], now, entropy, ratio, error,
                       a = (double) b->advantage[row];

                reference_forward(network, parameters, b->observations + row * b->n_observation, outputs);
                now = reference_log_probability(network, b, row, outputs, &entropy);
                ratio = fmin(exp(behaviour - (double) b->log_probability[row]), 2) * exp(now - behaviour);
                loss -= fmin(a * ratio, a * fmin(fmax(ratio, 1 - s->clip), 1 + s->clip));
                loss -= s->entropy_weight * entropy;
                error = outputs[network_find(network, OUTPUT_VALUE)][0] - (double) b->target[row];
                loss += s->value_weight * error * error / 2;
        }
        return loss / ROWS;
}

static void test_gradient(gconstpointer data) {
        Bed at = {}, after = {};
        double parameters[512];
        size_t n;

        /* `at` takes one gradient step, and `after` takes two. So the gradient that `after` still has was
         * computed at the parameters of `at`. */
        open_bed(&at, data, 1);
        learn(&at, 0);
        open_bed(&after, data, 2);
        learn(&after, 0);
        g_assert_cmpfloat(after.learner->statistics.clip_fraction, >, 0.1);
        n = at.page.network.n_parameters;
        g_assert_cmpuint(n, <=, G_N_ELEMENTS(parameters));
        for (size_t i = 0; i < n; i++)
                parameters[i] = (double) at.learner->runtime->nets[NET_POLICY]->parameters[i];
        differences_check(after.learner->runtime->gradients[0], parameters, n, reference_loss, &after);
        bed_close(&at);
        bed_close(&after);
}

static bool target_is_policy(const Bed *bed) {
        const Adam *const *nets = (const Adam *const *) bed->learner->runtime->nets;

        return memcmp(nets[NET_TARGET]->parameters, nets[NET_POLICY]->parameters,
                               nets[NET_POLICY]->n * sizeof(float)) == 0;
}

/* A round takes two gradient steps. With TargetInterval=3 the target follows after steps 3 and 6, otherwise
 * at the end of each round. */
static void test_target(void) {
        static const Case interval = { "", "TargetInterval=3", 3 }, rounds = { "", "", 3 };
        static const double steps_since[] = { 2, 1, 0, 2, 1, 0 };
        Bed bed = {};

        open_bed(&bed, &interval, 2);
        g_assert_true(target_is_policy(&bed));
        for (uint32_t round = 0; round < G_N_ELEMENTS(steps_since); round++) {
                learn(&bed, round);
                g_assert_cmpfloat(bed.learner->runtime->state[0], ==, steps_since[round]);
                g_assert_true(target_is_policy(&bed) == (steps_since[round] == 0));
        }
        bed_close(&bed);

        bed = (Bed){};
        open_bed(&bed, &rounds, 2);
        for (uint32_t round = 0; round < 3; round++) {
                learn(&bed, round);
                g_assert_true(target_is_policy(&bed));
        }
        bed_close(&bed);
}

/* The buffer has the newest two of three rounds, with the observations that the learner had. */
static void test_buffer(void) {
        static const Case c = { "", "BufferBatches=2", 3 };
        float *rounds[3];
        Buffer *buffer;
        Bed bed = {};
        size_t n;

        open_bed(&bed, &c, 1);
        n = batch_block(bed.learner->batch, 2) * 3;
        buffer = bed.learner->runtime->buffer;
        g_assert_cmpuint(buffer_count(buffer), ==, 0);
        for (uint32_t round = 0; round < 3; round++) {
                learn(&bed, round);
                rounds[round] = g_memdup2(bed.learner->batch->observations, n * sizeof(float));
        }
        g_assert_cmpuint(buffer_count(buffer), ==, 2);
        for (uint32_t age = 0; age < 2; age++) {
                uint32_t n_actors;
                const Batch *b = buffer_at(buffer, age, &n_actors);

                g_assert_cmpuint(n_actors, ==, 2);
                g_assert_cmpmem(b->observations, n * sizeof(float), rounds[2 - age], n * sizeof(float));
        }
        g_assert_true(buffer_possible(buffer));

        /* A made-up checkpoint: one truncated episode without its last observation. */
        buffer->views[0].ends[0] = buffer->views[0].ends[0] == END_TRUNCATED ? END_NOT : END_TRUNCATED;
        g_assert_false(buffer_possible(buffer));
        for (unsigned round = 0; round < 3; round++)
                g_free(rounds[round]);
        bed_close(&bed);
}

int main(int argc, char *argv[]) {
        static const Case cases[] = {
                { "discrete", "TargetInterval=100\nClip=0.05", 3 },
                { "discrete-entropy", "TargetInterval=100\nEntropyWeight=0.2\nClip=0.1\nRhoBar=2", 3 },
                { "several", "TargetInterval=100\nEntropyWeight=0.2\nClip=0.05", BED_SEVERAL },
                { "gaussian", "TargetInterval=100\nSharedNetwork=yes\nClip=0.05\nMaxGradNorm=0", 0 },
        };

        g_test_init(&argc, &argv, NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *path = g_strdup_printf("/impact/gradient/%s", cases[i].name);

                g_test_add_data_func(path, &cases[i], test_gradient);
        }
        g_test_add_func("/impact/target", test_target);
        g_test_add_func("/impact/buffer", test_buffer);
        return g_test_run();
}
