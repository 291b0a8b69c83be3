/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests policies on a bandit whose recorded actions lie near four places. Policies that make actions from
 * noise must choose each place about as often as the records do. A normal distribution cannot, since it has
 * only one mean. */
#include <glib.h>
#include <math.h>

#include "lib/forward.h"
#include "lib/rng.h"
#include "tests/unit/learner-fixture.h"

enum { ENVS = 16, STEPS = 64, ROUNDS = 4, MODES = 4, SAMPLES = 10000 };

#define PLACE  0.7  /* of each mode: its distance from the middle, in each direction */
#define SPREAD 0.05 /* of the recorded actions around their mode: a standard deviation */
#define NEAR   0.5  /* a sample at most this far from a mode belongs to it */
#define FEWEST 0.15
#define MOST   0.35

#define SECTIONS                                                                                      \
        "StopSteps=4096\n[Scaling]\nActors=1\n[Actor]\nEnvsPerActor=16\nRolloutSteps=64\n[Learner]\n" \
        "Dataset=a.hdf5\nReplaySize=2048\nReplayMin=1024\nMinibatchSize=64\nLearningRate=0.003\n"     \
        "LearningRateSchedule=linear\nHiddenLayers=32 32\nActivation=mish\nOrthogonalInit=no\n"       \
        "MaxGradNorm=0\nAdamEpsilon=1e-8\nThreads=1\nTrainRatio=1\n"

/* The place of a mode in direction k. */
static double place(unsigned mode, unsigned k) {
        return (mode >> k & 1) ? PLACE : -PLACE;
}

/* Each step is an episode, and actions near each of the four modes get the same return. */
static void record(Bed *bed, uint32_t bank, ActordRandom *random) {
        const SegmentLayout *l = &bed->page.segment;
        void *segment = bed->segments[0];

        for (uint64_t i = 0; i < (uint64_t) (l->steps + 1) * l->envs; i++)
                *(float *) segment_observation(segment, l, i) = 0.0f;
        for (uint32_t e = 0; e < l->envs; e++) {
                SlotState *state = segment_snapshot(segment, l, bank ^ 1, e);

                *state = *segment_snapshot(segment, l, bank, e);
                state->episode += l->steps + (state->episode == 0);
                state->elapsed_steps = 0;
        }
        for (uint64_t row = 0; row < (uint64_t) l->steps * l->envs; row++) {
                float *action = segment_action(segment, l, row);
                unsigned mode = (unsigned) (row % MODES);

                for (unsigned k = 0; k < 2; k++)
                        action[k] = (float) (place(mode, k) + SPREAD * actord_random_normal(random));
                segment_rewards(segment, l)[row] = 1.0;
                segment_log_probabilities(segment, l)[row] = -1.0f;
                segment_ends(segment, l)[row] = END_TERMINATED;
        }
}

/* The share of samples near each mode. */
static void sample(const Bed *bed, double ret[MODES]) {
        const Network *network = &bed->page.network;
        bool passes = act_passes(network->act);
        float observation = 0, parameters[8], action[2], ignored;
        Forward *forward;

        g_assert_cmpint(forward_new(network, &bed->page.spec, &forward), ==, 0);
        forward_load(forward, policy_bank(bed->policy, &bed->page.policy, bed->learner->policy_bank),
                        &bed->page.policy);
        for (uint32_t i = 0; i < SAMPLES; i++) {
                ActordRandom random;

                random_begin(&random, 1, RANDOM_ACTION, i, 0, 0);
                if (passes)
                        forward_draw(forward, 0, &random);
                forward_row(forward, &observation, parameters);
                action_sample(network, parameters, passes, &random, action, &ignored);
                for (unsigned m = 0; m < MODES; m++)
                        if (hypot((double) action[0] - place(m, 0), (double) action[1] - place(m, 1)) <=
                                        NEAR)
                                ret[m] += 1.0 / SAMPLES;
        }
        (void) forward_free(forward);
}

/* Trains a policy by 4,096 gradient steps on recorded actions. ret: the share of its samples near each
 * mode. */
static void learn(const char *algorithm, double ret[MODES]) {
        g_autofree char *sections = g_strdup_printf("Algorithm=%s\n" SECTIONS "%s", algorithm,
                        g_str_equal(algorithm, "bc") ? "" : "Eta=0.1\nTau=0.05\n");
        ActordEnvSpec spec = bed_spec_box(1, 2, 0);
        ActordRandom random;
        Bed bed = {};

        random_begin(&random, 1, RANDOM_INIT, 0, 0, 0);
        bed_start(&bed, sections, &spec);
        for (uint32_t round = 0; round < ROUNDS; round++) {
                record(&bed, round & 1, &random);
                bed_take(&bed, 0, round & 1);
                bed_learn(&bed, round, 1);
        }
        sample(&bed, ret);
        bed_close(&bed);
        for (unsigned m = 0; m < MODES; m++)
                g_test_message("%s: %.3f near mode %u", algorithm, ret[m], m);
}

static void test_every_mode(const void *algorithm) {
        double shares[MODES] = {};

        learn(algorithm, shares);
        for (unsigned m = 0; m < MODES; m++) {
                g_assert_cmpfloat(shares[m], >=, FEWEST);
                g_assert_cmpfloat(shares[m], <=, MOST);
        }
}

/* The samples of one normal distribution are spread so widely that each mode gets few of them. */
static void test_normal(void) {
        double shares[MODES] = {};

        learn("bc", shares);
        for (unsigned m = 0; m < MODES; m++)
                g_assert_cmpfloat(shares[m], <, FEWEST);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_data_func("/modes/consistency", "consistency", test_every_mode);
        g_test_add_data_func("/modes/diffusion-ql", "diffusion-ql", test_every_mode);
        g_test_add_func("/modes/bc", test_normal);
        return g_test_run();
}
