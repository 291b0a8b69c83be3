/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rules for every algorithm: threads change nothing, a checkpoint in the middle changes nothing, and the
 * policy learns. */
#include <glib/gstdio.h>
#include <unistd.h>

#include "include/launch.h"
#include "lib/algorithm-traits.h"
#include "lib/forward.h"
#include "lib/rng.h"
#include "lib/settings/print.h"
#include "tests/unit/bandit-fixture.h"

enum { ACTORS = 3, ROUNDS = 6 };

/* From the second round on (ReplayMin=), each round has some gradient steps. */
#define CRITICS "MinibatchSize=96\nReplaySize=1200\nReplayMin=500\nTrainRatio=0.02\n"

/* The controller of an environment with five observations and two actions. */
#define MATRICES                                                                                         \
        "ModelA=.5 0 0 0 0 0 .5 0 0 0 0 0 .5 0 0 0 0 0 .5 0 0 0 0 0 .5\nModelB=0 0 0 0 0 0 0 0 0 0\n"    \
        "ControllerF=0 0 0 0 0 0 0 0 0 0\nEnvelopeP=1 0 0 0 0 0 1 0 0 0 0 0 1 0 0 0 0 0 1 0 0 0 0 0 1\n" \
        "Alpha=0.5\n"

typedef struct Case {
        const char *name, *learner;
        const char *bandit; /* settings for learning the bandit; NULL: it is not tried */
        uint32_t n_updates; /* rounds in which it must have learned the bandit */
        bool continuous;    /* it accepts continuous actions */
        bool no_choices;    /* it accepts only continuous actions */
        bool image;         /* observations are images of bytes, which convolutions read */
        uint32_t stack;     /* frames of a stacked image; each frame is stored once */
} Case;

static void open_bed(Bed *bed, const Case *c, bool continuous, uint32_t n_threads, int state_fd,
                int checkpoint_fd) {
        g_autofree char *sections = g_strdup_printf(
                        "Algorithm=%s\n[Scaling]\nActors=%u\n[Actor]\nEnvsPerActor=4\nRolloutSteps=32\n"
                        "[Learner]\nHiddenLayers=24 8\nThreads=%u\n%s\n%s\n",
                        c->name, ACTORS, n_threads,
                        c->image ? "Convolutions=8x3/2 16x3/1+1\nActivation=relu" : "", c->learner);
        ActordEnvSpec spec = bed_spec_box(5, 2, continuous ? 0 : 3);

        spec.horizon_steps = 30;
        if (c->image)
                spec.observation = (ActordSpace){ .kind = ACTORD_BOX,
                        .element = ACTORD_U8,
                        .n_dims = 3,
                        .shape = { 2, 9, 8 },
                        .high = 255 };
        spec.stack = c->stack;
        bed_settings("CartPole-v1", sections, &bed->settings);
        bed_open(bed, &spec, state_fd, checkpoint_fd);
        bed_restore(bed);
}

/* Makes the rounds first .. end - 1. They read banks 0 and 1 alternately; round `even` reads bank 0. */
static Answer play(Bed *bed, uint32_t first, uint32_t end, uint32_t even) {
        Answer learned = {};

        for (uint32_t round = first; round < end; round++) {
                bed_take_all(bed, ACTORS, (round - even) & 1, round);
                learned = bed_learn(bed, round, ACTORS);
        }
        return learned;
}

static void test_threads(gconstpointer data) {
        const Case *c = data;

        for (unsigned continuous = c->no_choices; continuous <= c->continuous; continuous++) {
                uint8_t sha256[32];

                for (uint32_t n = 1; n <= 3; n++) {
                        Bed bed = {};
                        Answer learned;

                        open_bed(&bed, c, continuous, n, -1, -1);
                        learned = play(&bed, 0, ROUNDS, 0);
                        if (n == 1)
                                memcpy(sha256, learned.sha256, 32);
                        g_assert_cmpmem(learned.sha256, 32, sha256, 32);
                        bed_close(&bed);
                }
        }
}

static void test_checkpoint(gconstpointer data) {
        const Case *c = data;

        for (unsigned continuous = c->no_choices; continuous <= c->continuous; continuous++) {
                g_autofree char *directory = g_dir_make_tmp("algorithms-XXXXXX", NULL);
                int state_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd;
                Bed whole = {}, before = {}, after = {};
                Answer expected, learned;

                open_bed(&whole, c, continuous, 1, -1, -1);
                expected = play(&whole, 0, ROUNDS, 0);

                open_bed(&before, c, continuous, 1, state_fd, -1);
                play(&before, 0, 3, 0);
                for (uint32_t a = 0; a < ACTORS; a++)
                        before.worker.banks[a] = 1;
                learned = bed_order(&before, (Order){ .kind = ORDER_CHECKPOINT, .round = 3 });
                g_assert_cmpuint(learned.fault, ==, FAULT_NONE);
                fd = openat(state_fd, "checkpoint-3.safetensors", O_RDONLY | O_CLOEXEC);
                g_assert_cmpint(fd, >=, 0);

                open_bed(&after, c, continuous, 1, -1, fd);
                learned = play(&after, 3, ROUNDS, 1);
                g_assert_cmpmem(learned.sha256, 32, expected.sha256, 32);
                g_assert_cmpmem(&learned.statistics, sizeof(Statistics), &expected.statistics,
                                sizeof(Statistics));

                bed_close(&whole);
                bed_close(&before);
                bed_close(&after);
                (void) close(fd);
                g_assert_cmpint(unlinkat(state_fd, "checkpoint-3.safetensors", 0), ==, 0);
                /* The file is there only where the file system can reserve space. */
                (void) unlinkat(state_fd, CHECKPOINT_RESERVE, 0);
                (void) close(state_fd);
                g_assert_cmpint(g_rmdir(directory), ==, 0);
        }
}

static void test_bandit(gconstpointer data) {
        const Case *c = data;

        for (unsigned continuous = c->no_choices; continuous <= c->continuous; continuous++) {
                ActordEnvSpec spec = bed_spec_box(1, 1, continuous ? 0 : 2);
                g_autofree char *sections =
                                g_strdup_printf("Algorithm=%s\n[Actor]\nEnvsPerActor=8\nRolloutSteps=16\n"
                                                "[Learner]\nHiddenLayers=16\nLearningRate=0.01\n%s\n",
                                                c->name, c->bandit);
                Forward *forward;
                Answer learned = {};
                Bed bed = {};

                bed_start(&bed, sections, &spec);
                g_assert_cmpint(forward_new(&bed.page.network, &spec, &forward), ==, 0);
                for (uint32_t update = 0; update < c->n_updates; update++) {
                        play_bandit(&bed, forward, update);
                        bed_take(&bed, 0, update & 1);
                        learned = bed_learn(&bed, update, 1);
                }
                g_test_message("return %g", learned.statistics.return_mean);
                g_assert_cmpfloat(learned.statistics.return_mean, >, continuous ? 0.85 : 0.95);
                forward_free(forward);
                bed_close(&bed);
        }
}

static bool accepted(const char *algorithm, const char *key, const char *value, char **ret_message) {
        g_autofree char *text =
                        g_strdup_printf("[Job]\nEnvironment=CartPole-v1\nAlgorithm=%s\n[Learner]\n%s=%s\n",
                                        algorithm, key, value);
        JobSettings settings;

        *ret_message = NULL;
        return settings_parse(text, "job", NULL, 0, NULL, &settings, ret_message) == 0;
}

/* A key that the algorithm does not read is refused, with the names of algorithms that read it. The key's
 * default is accepted. */
static void test_keys(void) {
        g_autofree char *message = NULL, *none = NULL, *default_given = NULL;

        g_assert_false(accepted("a2c", "Epochs", "4", &message));
        g_assert_nonnull(strstr(message, "Epochs=4"));
        g_assert_nonnull(strstr(message, "Algorithm=a2c"));
        g_assert_nonnull(strstr(message, "ppo"));
        g_assert_true(accepted("ppo", "Epochs", "4", &none));
        g_assert_true(accepted("a2c", "Epochs", "10", &default_given));
        g_assert_true(algorithm_uses(ALGORITHM_IMPALA, SETTING_Learner_RhoBar));
        g_assert_false(algorithm_uses(ALGORITHM_A2C, SETTING_Learner_RhoBar));
        g_assert_true(algorithm_uses(ALGORITHM_A2C, SETTING_Actor_RolloutSteps));
}

/* Makes a job's page for the algorithm and the spec. 0, or the error of job_page_make(). */
static int page_of(const char *algorithm, const ActordEnvSpec *spec) {
        g_autofree char *sections = g_strdup_printf("Algorithm=%s\n", algorithm);
        JobSettings settings;
        JobPage page;

        bed_settings("CartPole-v1", sections, &settings);
        return job_page_make(&settings, spec, &page);
}

/* Algorithms for bounded actions refuse discrete actions, and bounds that are infinite or too close. */
static void test_bounds(void) {
        static const char *const algorithms[] = { "ddpg", "td3", "sac", "consistency", "diffusion-ql" };

        for (size_t i = 0; i < G_N_ELEMENTS(algorithms); i++) {
                ActordEnvSpec discrete = bed_spec_box(3, 2, 4), continuous = bed_spec_box(3, 2, 0);

                g_assert_cmpint(page_of(algorithms[i], &continuous), ==, 0);
                g_assert_cmpint(page_of(algorithms[i], &discrete), ==, -EPROTOTYPE);
                continuous.action.high = INFINITY;
                g_assert_cmpint(page_of(algorithms[i], &continuous), ==, -ERANGE);
                continuous.action.high = 1e39;
                g_assert_cmpint(page_of(algorithms[i], &continuous), ==, -ERANGE);
                continuous.action.high = nextafter(continuous.action.low, INFINITY);
                g_assert_cmpint(page_of(algorithms[i], &continuous), ==, -ERANGE);
                continuous.action.high = continuous.action.low;
                g_assert_cmpint(page_of(algorithms[i], &continuous), ==, -ERANGE);
        }
}

/* Each value of Algorithm= has its algorithm, and its case in this file. */
static void test_table(gconstpointer data) {
        const Case *cases = data;

        for (uint32_t a = 0; a < _ALGORITHM_MAX; a++) {
                g_assert_nonnull(algorithm_find(a));
                g_assert_cmpstr(algorithm_find(a)->name, ==, choice_algorithm_to_string(a));
                g_assert_cmpstr(cases[a].name, ==, choice_algorithm_to_string(a));
        }
        g_assert_null(algorithm_find(_ALGORITHM_MAX));
}

static void add(const char *what, const Case *c, GTestDataFunc test) {
        g_autofree char *path = g_strdup_printf("/algorithms/%s/%s", c->name, what);

        g_test_add_data_func(path, c, test);
}

int main(int argc, char *argv[]) {
        static const Case cases[_ALGORITHM_MAX] = {
                { "ppo", "Epochs=2\nMinibatchSize=96\nNormalizeObservations=yes",
                                "Epochs=4\nMinibatchSize=64", 80, true },
                { "a2c", "NormalizeRewards=yes\nEntropyWeight=0.01", "", 400, true },
                { "impala", "MinibatchSize=96\nRhoBar=2\nNormalizeObservations=yes", "MinibatchSize=32", 80,
                                true },
                { "impact", "Epochs=3\nMinibatchSize=192\nBufferBatches=2\nTargetInterval=5",
                                "Epochs=2\nMinibatchSize=64\nClip=0.4\nTargetInterval=8", 120, true },
                { "dqn", "MinibatchSize=96\nReplaySize=1200\nReplayMin=500\nNSteps=3\nTargetInterval=7",
                                "ReplayMin=256\nMinibatchSize=64\nEpsilonSteps=4000\nEpsilonEnd=0.02", 80,
                                false },
                { "ddpg", CRITICS "NSteps=3", "ReplayMin=256\nMinibatchSize=64\nTau=0.05", 40, true, true },
                { "td3", CRITICS "PolicyDelay=3\nTargetNoise=0.3",
                                "ReplayMin=256\nMinibatchSize=64\nTau=0.05", 60, true, true },
                { "sac", CRITICS "CriticLearningRate=0.001", "ReplayMin=256\nMinibatchSize=64\nTau=0.05", 60,
                                true, true },
                { "rebel", "Epochs=3\nEta=0.5\nNormalizeObservations=yes\n[Actor]\nPairSteps=7", "Epochs=5",
                                80, true },
                /* Behaviour cloning learns from recorded actions and not from its own, so it cannot learn
                 * the bandit. */
                { "bc",
                                "Dataset=a.hdf5\nMinibatchSize=96\nReplaySize=1200\nReplayMin=500\n"
                                "TrainRatio=0.02\nNormalizeObservations=yes",
                                .continuous = true },
                { "td3-bc", CRITICS "Dataset=a.hdf5\nPolicyDelay=3\nNormalizeObservations=yes",
                                .continuous = true, .no_choices = true },
                { "phydrl", CRITICS MATRICES "TargetNoise=0.3\nPolicyDelay=1", .continuous = true,
                                .no_choices = true },
                { "simppo", "Epochs=2\nMinibatchSize=96\nNormalizeObservations=yes",
                                "Epochs=4\nMinibatchSize=64", 80, true },
                { "mappo", "Epochs=2\nMinibatchSize=96\nNormalizeObservations=yes",
                                "Epochs=4\nMinibatchSize=64", 80, true },
                { "consistency", CRITICS "Dataset=a.hdf5\nPasses=3\nNormalizeObservations=yes",
                                "ReplayMin=256\nMinibatchSize=64\nTau=0.05\nEpsilonSteps=2000", 60, true,
                                true },
                { "diffusion-ql", CRITICS "Dataset=a.hdf5\nPasses=3\nNormalizeObservations=yes",
                                "ReplayMin=256\nMinibatchSize=64\nTau=0.05\nEpsilonSteps=2000", 60, true,
                                true },
                { "pi-ft", CRITICS "Passes=3",
                                "ReplayMin=256\nMinibatchSize=64\nTau=0.05\nEpsilonSteps=2000\nEta=100", 60,
                                true, true },
        };

        /* One of each store. */
        static const Case images[] = {
                { "ppo", "Epochs=2\nMinibatchSize=96\nSharedNetwork=yes", .image = true },
                { "impact", "Epochs=3\nMinibatchSize=192\nBufferBatches=2\nTargetInterval=5",
                                .image = true },
                { "dqn", "MinibatchSize=96\nReplaySize=1200\nReplayMin=500\nNSteps=3\nTargetInterval=7",
                                .image = true },
                { "ppo", "Epochs=2\nMinibatchSize=96\nSharedNetwork=yes", .image = true, .stack = 2 },
                { "impact", "Epochs=3\nMinibatchSize=192\nBufferBatches=2\nTargetInterval=5", .image = true,
                                .stack = 2 },
                { "dqn", "MinibatchSize=96\nReplaySize=1200\nReplayMin=500\nNSteps=3\nTargetInterval=7",
                                .image = true, .stack = 2 },
        };

        g_test_init(&argc, &argv, NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                add("threads", &cases[i], test_threads);
                add("checkpoint", &cases[i], test_checkpoint);
                if (cases[i].bandit)
                        add("bandit", &cases[i], test_bandit);
        }
        for (size_t i = 0; i < G_N_ELEMENTS(images); i++) {
                add(images[i].stack > 0 ? "stacks/threads" : "images/threads", &images[i], test_threads);
                add(images[i].stack > 0 ? "stacks/checkpoint" : "images/checkpoint", &images[i],
                                test_checkpoint);
        }
        g_test_add_func("/algorithms/keys", test_keys);
        g_test_add_data_func("/algorithms/table", cases, test_table);
        g_test_add_func("/algorithms/bounds", test_bounds);
        return g_test_run();
}
