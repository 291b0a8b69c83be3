/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests the replay store with continuous actions, and with actions of several choices. All elements of an
 * action must come back with the step in which it was taken. tests/unit/learner/test-dqn.c tests the n-step
 * windows. */
#include "learner/store/replay.h"
#include "lib/algorithm-traits.h"
#include "tests/unit/learner-fixture.h"

enum { ACTORS = 2, ENVS = 3, STEPS = 5, ACTIONS = 4 };

static Batch *batch_make(uint32_t act) {
        const Batch shape = {
                .n_actors_max = ACTORS,
                .n_blocks = ACTORS,
                .envs = ENVS,
                .steps = STEPS,
                .n_observation = 2,
                .n_action = ACTIONS,
                .act = act,
                .frames = 1,
        };
        Batch *batch;

        g_assert_cmpint(batch_new_shape(&shape, &batch), ==, 0);
        return batch;
}

/* The value of element k of the action that a slot takes in this step. */
static float number_of(uint32_t slot, uint64_t step, uint32_t k) {
        return (float) (1000 * slot + 10 * step + k) / 8192;
}

static void round_fill(Batch *b, uint32_t round) {
        for (uint32_t a = 0; a < ACTORS; a++)
                for (uint32_t i = 0; i < b->step_rows; i++) {
                        size_t row = batch_block(b, a) + i;
                        uint32_t slot = a * ENVS + i % ENVS;
                        uint64_t step = round * STEPS + i / ENVS;

                        b->scaled[row] = (float) step;
                        for (uint32_t k = 0; k < ACTIONS; k++)
                                b->actions[row * ACTIONS + k] = number_of(slot, step, k);
                }
}

/* Each window that can be drawn has the action of its first step. */
static void check_actions(Replay *replay) {
        uint64_t n = replay_count(replay), window = 0;

        for (uint32_t slot = 0; slot < replay->n_slots; slot++)
                for (uint64_t k = 0; k < replay->first[slot + 1] - replay->first[slot]; k++, window++) {
                        float *action = replay->drawn->actions + (size_t) 2 * ACTIONS;

                        replay_gather(replay, window, 0.9, 2);
                        for (uint32_t i = 0; i < ACTIONS; i++)
                                g_assert_cmpfloat(action[i], ==,
                                                number_of(slot, (uint64_t) replay->drawn->scaled[2], i));
                }
        g_assert_cmpuint(window, ==, n);
}

static void test_actions(void) {
        JobSettings settings;
        Batch *batch = batch_make(ACT_DETERMINISTIC);
        Replay *replay;

        /* Room for 14 steps of each slot: the ring goes around. */
        bed_settings("CartPole-v1",
                        "Algorithm=dqn\n[Scaling]\nActors=2\n[Actor]\nEnvsPerActor=3\nRolloutSteps=5\n"
                        "[Learner]\nReplaySize=84\nReplayMin=1\nMinibatchSize=4\n",
                        &settings);
        g_assert_cmpint(replay_new(&settings, batch, &replay), ==, 0);
        g_assert_null(replay->choices);
        for (uint32_t round = 0; round < 5; round++) {
                round_fill(batch, round);
                replay_enter(replay, batch, ACTORS, false);
                check_actions(replay);
        }
        g_assert_cmpuint(replay->capacity, ==, 14);
        g_assert_true(replay_possible(replay, 0, 1));
        replay->actions[3 * ACTIONS + 1] = NAN;
        g_assert_false(replay_possible(replay, 0, 1));
        /* An action may be beyond its bound by a rounding error, but not by more. */
        replay->actions[3 * ACTIONS + 1] = 1.000001f;
        g_assert_true(replay_possible(replay, 0, 1));
        replay->actions[3 * ACTIONS + 1] = 1.01f;
        g_assert_false(replay_possible(replay, 0, 1));
        g_assert_true(replay_possible(replay, 0, 1.02));
        replay_free(replay);
        batch_free(batch);
}

/* If an action has several choices, each of them has a limit of its own. */
static void test_choices(void) {
        Batch *shape = batch_make(ACT_CATEGORICAL), *batch;
        JobSettings settings;
        Replay *replay;

        shape->n_choices = 3;
        memcpy(shape->limits, (uint32_t[]){ 2, 3, 4 }, 3 * sizeof(uint32_t));
        g_assert_cmpint(batch_new_shape(shape, &batch), ==, 0);
        batch_free(shape);
        bed_settings("CartPole-v1",
                        "Algorithm=bc\n[Scaling]\nActors=2\n[Actor]\nEnvsPerActor=3\nRolloutSteps=5\n"
                        "[Learner]\nDataset=a.hdf5\nReplaySize=84\nReplayMin=1\nMinibatchSize=4\n",
                        &settings);
        g_assert_cmpint(replay_new(&settings, batch, &replay), ==, 0);
        for (uint32_t row = 0; row < batch->n_rows; row++)
                for (uint32_t k = 0; k < 3; k++)
                        batch->choices[row * 3 + k] = (int32_t) ((row + k) % batch->limits[k]);
        for (uint32_t i = 0; i < batch->step_rows; i++)
                batch->scaled[i] = (float) i;
        replay_enter(replay, batch, 1, false);

        for (uint64_t window = replay_count(replay); window-- > 0;) {
                replay_gather(replay, window, 0.9, 1);
                for (uint32_t k = 0; k < 3; k++)
                        g_assert_cmpint(replay->drawn->choices[3 + k], ==,
                                        ((int32_t) replay->drawn->scaled[1] + (int32_t) k) %
                                                        (int32_t) batch->limits[k]);
        }
        g_assert_true(replay_possible(replay, 0, 0));
        replay->choices[1] = 3;
        g_assert_false(replay_possible(replay, 0, 0));
        replay->choices[1] = 2;
        replay->choices[2] = 3;
        g_assert_true(replay_possible(replay, 0, 0));
        replay_free(replay);
        batch_free(batch);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/replay/actions", test_actions);
        g_test_add_func("/replay/choices", test_choices);
        return g_test_run();
}
