/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests DQN: the steps that come back from the replay store, the targets of double Q-learning, the gradient
 * of Huber's loss, the number of gradient steps, and the chance of a random action. */
#include "tests/unit/gradient-reference.h"

enum { STEPS = 8, ENVS = 3 };

static void open_bed(Bed *bed, const char *learner, const char *actor) {
        g_autofree char *sections = g_strdup_printf(
                        "Algorithm=dqn\n[Scaling]\nActors=2\n[Actor]\nEnvsPerActor=%u\nRolloutSteps=%u\n%s\n"
                        "[Learner]\nHiddenLayers=5 4\nReplayMin=1\nLearningRate=0.01\nMinibatchSize=32\n"
                        "%s\n",
                        ENVS, STEPS, actor, learner);
        ActordEnvSpec spec = bed_spec_box(3, 2, 4);

        spec.horizon_steps = 9;
        bed_start(bed, sections, &spec);
}

static void take(Bed *bed, uint32_t round) {
        bed_take_all(bed, 2, round & 1, round);
}

/* A step as it was put into the store. */
typedef struct Step {
        float observation[3], successor[3], reward;
        int32_t choice;
        uint8_t end;
} Step;

static void steps_read(const Bed *bed, GArray *slots[2 * ENVS]) {
        const Batch *b = bed->learner->batch;

        for (uint32_t a = 0; a < 2; a++) {
                size_t block = batch_block(b, a), final = block + b->next_rows;

                for (uint32_t i = 0; i < b->step_rows; i++) {
                        Step step = { .reward = b->scaled[block + i],
                                .choice = b->choices[block + i],
                                .end = b->ends[block + i] };
                        size_t next = step.end == END_TRUNCATED ? final++ : block + i + ENVS;

                        memcpy(step.observation, b->observations + (block + i) * 3,
                                        sizeof(step.observation));
                        memcpy(step.successor, b->observations + next * 3, sizeof(step.successor));
                        g_array_append_val(slots[a * ENVS + i % ENVS], step);
                }
        }
}

/* Checks each n-step window that can be drawn. It must have the sum of its rewards. A window may go on in
 * the next invocation, but not in the next episode. */
static void check_windows(Bed *bed, GArray *slots[2 * ENVS], uint32_t n_steps, double gamma) {
        Replay *replay = bed->learner->runtime->replay;
        const Batch *b = replay->drawn;
        uint64_t n = replay_count(replay), window = 0;

        for (uint32_t s = 0; s < 2 * ENVS; s++) {
                guint kept = MIN(slots[s]->len, (guint) replay->capacity), first = slots[s]->len - kept;

                for (guint i = first; i + n_steps <= slots[s]->len; i++, window++) {
                        const Step *step = &g_array_index(slots[s], Step, i), *last = step;
                        double sum = 0, discount = 1;

                        for (uint32_t k = 0; k < n_steps; k++) {
                                last = &g_array_index(slots[s], Step, i + k);
                                sum += discount * (double) last->reward;
                                discount *= gamma;
                                if (last->end != END_NOT)
                                        break;
                        }
                        g_assert_cmpuint(window, <, n);
                        replay_gather(replay, window, gamma, 7);
                        g_assert_cmpmem(b->observations + 7 * 3, 12, step->observation, 12);
                        g_assert_cmpmem(b->observations + (b->step_rows + 7) * 3, 12, last->successor, 12);
                        g_assert_cmpint(b->choices[7], ==, step->choice);
                        g_assert_cmpfloat(b->scaled[7], ==, (float) sum);
                        g_assert_cmpfloat(replay->discounts[7], ==,
                                        last->end == END_TERMINATED ? 0 : (float) discount);
                }
        }
        g_assert_cmpuint(window, ==, n);
}

static void test_replay(void) {
        /* Room for 27 steps of each of 6 slots: the ring goes around. */
        for (uint32_t n_steps = 1; n_steps <= 5; n_steps += 2) {
                g_autofree char *learner =
                                g_strdup_printf("ReplaySize=165\nTrainRatio=0\nNSteps=%u", n_steps);
                GArray *slots[2 * ENVS];
                Bed bed = {};

                open_bed(&bed, learner, "");
                for (unsigned s = 0; s < G_N_ELEMENTS(slots); s++)
                        slots[s] = g_array_new(FALSE, FALSE, sizeof(Step));
                for (uint32_t round = 0; round < 7; round++) {
                        take(&bed, round);
                        bed_learn(&bed, round, 2);
                        steps_read(&bed, slots);
                        check_windows(&bed, slots, n_steps, 0.9);
                }
                g_assert_cmpuint(bed.learner->runtime->replay->capacity, ==, 27);
                g_assert_true(replay_possible(bed.learner->runtime->replay, 0.0, 0.0));
                bed.learner->runtime->replay->choices[3] = 4;
                g_assert_false(replay_possible(bed.learner->runtime->replay, 0.0, 0.0));
                for (unsigned s = 0; s < G_N_ELEMENTS(slots); s++)
                        g_array_unref(slots[s]);
                bed_close(&bed);
        }
}

/* With Carry=reset the last step of an invocation is marked as an end, so no window reaches into the next
 * invocation. */
static void test_reset(void) {
        Replay *replay;
        Bed bed = {};

        open_bed(&bed, "TrainRatio=0\nNSteps=3", "Carry=reset");
        take(&bed, 0);
        bed_learn(&bed, 0, 2);
        replay = bed.learner->runtime->replay;
        for (uint32_t s = 0; s < replay->n_slots; s++)
                g_assert_cmpuint(replay->ends[s * replay->capacity + STEPS - 1], !=, END_NOT);
        bed_close(&bed);
}

/* The loss of the minibatch that was drawn last, with targets from both networks as they are before the
 * step. */
typedef struct Given {
        const Bed *bed;
        const double *targets;
} Given;

static void forward_values(
                const Network *network, const double *parameters, const float *observation, double ret[4]) {
        double storage[LAYERS_MAX][32], *outputs[LAYERS_MAX];

        for (unsigned i = 0; i < LAYERS_MAX; i++)
                outputs[i] = storage[i];
        reference_forward(network, parameters, observation, outputs);
        memcpy(ret, outputs[network->n_layers - 1], 4 * sizeof(double));
}

static double reference_loss(const void *arg, const double *parameters) {
        const Given *g = arg;
        const Batch *b = g->bed->learner->runtime->batch;
        double loss = 0;

        for (uint32_t i = 0; i < b->step_rows; i++) {
                double values[4], error;

                forward_values(&g->bed->page.network, parameters, b->observations + (size_t) i * 3, values);
                error = fabs(values[b->choices[i]] - g->targets[i]);
                loss += error <= 1 ? error * error / 2 : error - 0.5;
        }
        return loss / b->step_rows;
}

static void parameters_read(const Bed *bed, Net net, double ret[512]) {
        const Adam *adam = bed->learner->runtime->nets[net];

        g_assert_cmpuint(adam->n, <=, 512);
        for (size_t i = 0; i < adam->n; i++)
                ret[i] = (double) adam->parameters[i];
}

/* Each round has one gradient step. The learner's gradient must be that of the reference loss at the
 * parameters before this step. */
static void test_gradient(void) {
        double policy[512], target[512], targets[32];
        const Batch *b;
        Bed bed = {};

        open_bed(&bed, "TrainRatio=0.0209\nNSteps=2\nTargetInterval=2\nGamma=0.8\nMaxGradNorm=0", "");
        for (uint32_t round = 0; round < 5; round++) {
                parameters_read(&bed, NET_POLICY, policy);
                parameters_read(&bed, NET_TARGET, target);
                take(&bed, round);
                for (uint32_t a = 0; a < 2; a++) /* some errors beyond Huber's bound */
                        segment_rewards(bed.segments[a], &bed.page.segment)[5] = 4;
                for (uint32_t a = 0; a < 2; a++)
                        bed_take(&bed, a, round & 1);
                bed_learn(&bed, round, 2);
        }

        b = bed.learner->runtime->batch;
        for (uint32_t i = 0; i < b->step_rows; i++) {
                const float *next = b->observations + (size_t) (b->step_rows + i) * 3;
                double chooses[4], says[4];
                unsigned best = 0;

                forward_values(&bed.page.network, policy, next, chooses);
                forward_values(&bed.page.network, target, next, says);
                for (unsigned a = 1; a < 4; a++)
                        best = chooses[a] > chooses[best] ? a : best;
                targets[i] = (double) b->scaled[i] +
                             (double) bed.learner->runtime->replay->discounts[i] * says[best];
                g_assert_cmpfloat_with_epsilon(targets[i], (double) b->target[i], 1e-5);
        }
        differences_check(bed.learner->runtime->gradients[0], policy, bed.page.network.n_parameters,
                        reference_loss, &(Given){ &bed, targets });
        bed_close(&bed);
}

/* A round has 48 environment steps. From the round on in which the store holds ReplayMin= steps, one
 * gradient step follows for each 32 environment steps. */
static void test_ratio(void) {
        static const uint64_t expected[] = { 0, 1, 3, 4, 6 };
        Bed bed = {};

        open_bed(&bed, "TrainRatio=0.03125\nReplayMin=90\nTargetInterval=4", "");
        for (uint32_t round = 0; round < G_N_ELEMENTS(expected); round++) {
                take(&bed, round);
                bed_learn(&bed, round, 2);
                g_assert_cmpuint(bed.learner->runtime->nets[NET_POLICY]->step, ==, expected[round]);
        }
        bed_close(&bed);
}

/* The chance of a random action in a policy version follows from the number of environment steps before
 * it. */
static void test_epsilon(void) {
        Bed bed = {};

        open_bed(&bed, "TrainRatio=0\nEpsilonStart=0.9\nEpsilonEnd=0.1\nEpsilonSteps=192", "");
        for (uint32_t round = 0; round < 6; round++) {
                const PolicyHead *head = policy_bank(bed.policy, &bed.page.policy, round);

                g_assert_cmpfloat_with_epsilon(head->epsilon, fmax(0.1, 0.9 - 0.8 * round / 4), 1e-12);
                take(&bed, round);
                bed_learn(&bed, round, 2);
        }
        bed_close(&bed);
}

static bool accepted(const char *learner, const char *word) {
        g_autofree char *text = g_strdup_printf(
                        "[Job]\nEnvironment=CartPole-v1\nAlgorithm=dqn\n[Actor]\nEnvsPerActor=10\n"
                        "RolloutSteps=100\n"
                        "[Learner]\n%s\n",
                        learner);
        g_autofree char *message = NULL;
        JobSettings settings;

        if (settings_parse(text, "job", NULL, 0, NULL, &settings, &message) == 0)
                return true;
        g_assert_nonnull(strstr(message, word));
        return false;
}

static void test_refused(void) {
        ActordEnvSpec continuous = bed_spec_box(3, 2, 0), discrete = bed_spec_box(3, 2, 4);
        JobSettings settings;
        JobPage page;

        g_assert_true(accepted("ReplaySize=1010", ""));
        g_assert_false(accepted("ReplaySize=1009", "at least 1010"));
        g_assert_false(accepted("ReplaySize=1010\nReplayMin=1011", "ReplayMin=1011"));
        g_assert_false(accepted("ReplaySize=1010\nMinibatchSize=1011", "ReplaySize=1010"));
        g_assert_false(accepted("NormalizeObservations=yes", "Algorithm=dqn"));

        bed_settings("CartPole-v1", "Algorithm=dqn\n", &settings);
        g_assert_cmpint(job_page_make(&settings, &discrete, &page), ==, 0);
        g_assert_cmpint(job_page_make(&settings, &continuous, &page), ==, -EOPNOTSUPP);
        bed_settings("CartPole-v1", "Algorithm=dqn\n[Learner]\nReplaySize=100000000\n", &settings);
        g_assert_cmpint(job_page_make(&settings, &discrete, &page), ==, -ENOSPC);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/dqn/replay", test_replay);
        g_test_add_func("/dqn/reset", test_reset);
        g_test_add_func("/dqn/gradient", test_gradient);
        g_test_add_func("/dqn/ratio", test_ratio);
        g_test_add_func("/dqn/epsilon", test_epsilon);
        g_test_add_func("/dqn/refused", test_refused);
        return g_test_run();
}
