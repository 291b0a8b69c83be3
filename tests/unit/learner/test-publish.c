/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests what a published version of a policy holds beside its network: with Candidates= the targets of both
 * critics, and the chance of a random action. */
#include "learner/algorithm/critics.h"
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

static void check_judges(const Bed *bed) {
        const Adam *const *nets = (const Adam *const *) bed->learner->runtime->nets;

        for (uint32_t k = 0; k < JUDGES; k++) {
                const Adam *target = nets[k == 0 ? NET_CRITIC_TARGET : NET_CRITIC_2_TARGET];

                g_assert_cmpuint(target->n, ==, bed->page.judge.n_parameters);
                g_assert_cmpmem(policy_judge(newest(bed), &bed->page.policy, &bed->page.judge, k),
                                target->n * sizeof(float), target->parameters, target->n * sizeof(float));
        }
}

static void test_judges(void) {
        for (size_t a = 0; a < G_N_ELEMENTS(algorithms); a++) {
                const Runtime *rt;
                Bed bed = {};

                open_bed(&bed, algorithms[a], "Candidates=50\n");
                rt = bed.learner->runtime;
                check_judges(&bed);
                for (uint32_t round = 0; round < ROUNDS; round++) {
                        play(&bed, round);
                        check_judges(&bed);
                }
                /* By now targets are behind their critics, and the two critics differ. */
                g_assert_cmpfloat(rt->nets[NET_CRITIC]->parameters[0], !=,
                                rt->nets[NET_CRITIC_TARGET]->parameters[0]);
                g_assert_cmpfloat(rt->nets[NET_CRITIC_TARGET]->parameters[0], !=,
                                rt->nets[NET_CRITIC_2_TARGET]->parameters[0]);
                bed_close(&bed);
        }
}

/* Candidates= changes how a policy acts. From the same data a learner learns the same. */
static void test_alike(void) {
        for (size_t a = 0; a < G_N_ELEMENTS(algorithms); a++) {
                Bed one = {}, several = {};
                uint8_t sha256[2][32];

                open_bed(&one, algorithms[a], "");
                open_bed(&several, algorithms[a], "Candidates=2\n");
                g_assert_cmpuint(one.page.policy.judges_at, ==, 0);
                for (uint32_t round = 0; round < ROUNDS; round++) {
                        play(&one, round);
                        play(&several, round);
                }
                learner_hash_policy(one.learner, sha256[0]);
                learner_hash_policy(several.learner, sha256[1]);
                g_assert_cmpmem(sha256[0], sizeof(sha256[0]), sha256[1], sizeof(sha256[1]));
                bed_close(&one);
                bed_close(&several);
        }
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
        g_test_add_func("/publish/judges", test_judges);
        g_test_add_func("/publish/alike", test_alike);
        g_test_add_func("/publish/epsilon", test_epsilon);
        return g_test_run();
}
