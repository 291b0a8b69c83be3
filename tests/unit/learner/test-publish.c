/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests what a published version of a policy holds beside its network: the chance of a random action. */
#include "tests/unit/learner-fixture.h"

enum { STEPS = 8, ROUNDS = 4 };

static const char *const algorithms[] = { "consistency", "diffusion-ql", "pi-ft" };

static void open_bed(Bed *bed, const char *algorithm, const char *learner) {
        g_autofree char *sections = g_strdup_printf("Algorithm=%s\n[Actor]\nRolloutSteps=%d\n[Learner]\n"
                                                    "HiddenLayers=12 8\nReplaySize=64\nReplayMin=12\n"
                                                    "MinibatchSize=8\nTrainRatio=0.5\nTau=0.25\n"
                                                    "LearningRate=0.01\n%s",
                        algorithm, STEPS, learner);
        ActordEnvSpec spec = bed_spec_box(3, 2, 0);

        bed_start(bed, sections, &spec);
}

static void play(Bed *bed, uint32_t round) {
        bed_fill(bed, 0, round & 1, round);
        bed_take(bed, 0, round & 1);
        bed_learn(bed, round, 1);
}

static const PolicyHead *newest(const Bed *bed) {
        return policy_bank(bed->policy, &bed->page.policy, bed->learner->policy_bank);
}

/* Random actions serve to explore, so a job with recorded episodes takes none, not even in evaluations that
 * draw actions (Stochastic=yes). */
static void test_epsilon(void) {
        for (size_t a = 0; a < G_N_ELEMENTS(algorithms); a++) {
                Bed acts = {}, reads = {};

                open_bed(&acts, algorithms[a], "EpsilonStart=0.75\nEpsilonEnd=0.75\n");
                open_bed(&reads, algorithms[a], "Dataset=a.hdf5\n");
                for (uint32_t round = 0; round < ROUNDS; round++) {
                        g_assert_cmpfloat(newest(&acts)->epsilon, ==, round < 2 ? 1 : 0.75);
                        g_assert_cmpfloat(newest(&reads)->epsilon, ==, 0);
                        play(&acts, round);
                        play(&reads, round);
                }
                bed_close(&acts);
                bed_close(&reads);
        }
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/publish/epsilon", test_epsilon);
        return g_test_run();
}
