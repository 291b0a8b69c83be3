/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A job that goes on from its checkpoint ends with the same bits as a job that never stopped. A file of
 * another job is refused with a sentence. */
#include <fcntl.h>
#include <inttypes.h>
#include <nettle/sha2.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actor/envs/builtin.h"
#include "lib/cleanup.h"
#include "tests/unit/checkpoint-fixture.h"

static void test_round_trip(void) {
        Bed whole = {}, before = {}, after = {};
        uint8_t *content, sha256[32];
        Answer written, restored, expected, learned;
        struct sha256_ctx sha;
        Place place;
        gsize n;
        int fd;

        place_open(&place);
        open_bed(&whole, "", -1, -1);
        bed_restore(&whole);
        expected = play(&whole, 0, 8, 0);

        open_bed(&before, "", place.fd, -1);
        bed_restore(&before);
        learned = play(&before, 0, 5, 0);
        fd = checkpoint(&before, &place, 5, &written);

        /* The answer has the hash of the file in the directory. */
        {
                g_autofree char *path = g_strdup_printf("%s/checkpoint-5.safetensors", place.directory);

                g_assert_true(g_file_get_contents(path, (char **) &content, &n, NULL));
                sha256_init(&sha);
                sha256_update(&sha, n, content);
                sha256_digest(&sha, 32, sha256);
                g_assert_cmpmem(sha256, 32, written.file_sha256, 32);
                g_assert_cmpuint(*(uint64_t *) content % 8, ==, 0);
                g_free(content);
        }

        open_bed(&after, "", place.fd, fd);
        restored = bed_restore(&after);
        g_assert_cmpuint(restored.round, ==, 5);
        g_assert_cmpuint(restored.policy_version, ==, 5);
        g_assert_cmpmem(restored.sha256, 32, learned.sha256, 32);
        g_assert_cmpmem(&restored.statistics, sizeof(Statistics), &learned.statistics, sizeof(Statistics));
        for (uint32_t a = 0; a < 2; a++) {
                g_assert_cmpuint(after.worker.ordinals[a], ==, 105 + a);
                for (uint32_t e = 0; e < 3; e++)
                        g_assert_cmpmem(segment_snapshot(after.segments[a], &after.page.segment, 0, e),
                                        after.page.segment.snapshot_stride,
                                        segment_snapshot(before.segments[a], &before.page.segment, 1, e),
                                        before.page.segment.snapshot_stride);
        }
        g_assert_cmpmem((uint8_t *) after.policy + after.learner->policy_bank * after.page.policy.bank_bytes,
                        after.page.policy.bank_bytes,
                        (uint8_t *) before.policy +
                                        before.learner->policy_bank * before.page.policy.bank_bytes,
                        before.page.policy.bank_bytes);

        /* The results are the same, although `after` reads bank 0 first, and `before` read bank 1. */
        learned = play(&after, 5, 8, 1);
        g_assert_cmpmem(learned.sha256, 32, expected.sha256, 32);
        g_assert_cmpmem(&learned.statistics, sizeof(Statistics), &expected.statistics, sizeof(Statistics));

        (void) close(fd);
        bed_close(&whole);
        bed_close(&before);
        bed_close(&after);
        place_close(&place);
}

/* An actor may write anything into the states of its slots until the checkpoint is written. The policy is
 * restored nevertheless, and all slots begin new episodes. */
static void check_impossible_slot(uint64_t episode) {
        Bed before = {}, after = {};
        Answer written, restored;
        Place place;
        int fd, kept;

        place_open(&place);
        open_bed(&before, "", place.fd, -1);
        bed_restore(&before);
        (void) play(&before, 0, 3, 0);
        segment_snapshot(before.segments[1], &before.page.segment, 1, 2)->episode = episode;
        before.learner->episodes->elapsed_steps[5] = 1;
        fd = checkpoint(&before, &place, 3, &written);

        open_bed(&after, "", place.fd, fd);
        kept = silence();
        restored = bed_restore(&after);
        unsilence(kept);
        g_assert_cmpuint(restored.round, ==, 3);
        g_assert_cmpmem(restored.sha256, 32, written.sha256, 32);
        for (uint32_t s = 0; s < 6; s++) {
                const SlotState *state =
                                segment_snapshot(after.segments[s / 3], &after.page.segment, 0, s % 3);

                g_assert_cmpuint(state->episode, ==, 0);
                g_assert_cmpuint(after.learner->episodes->elapsed_steps[s], ==, 0);
        }
        (void) play(&after, 3, 5, 1);

        (void) close(fd);
        bed_close(&before);
        bed_close(&after);
        place_close(&place);
}

static void test_impossible_slot(void) {
        check_impossible_slot(UINT64_MAX);
        check_impossible_slot(0); /* of a slot that is one step into an episode */
}

/* A killed life left files under another user id, which the next life cannot open, so it replaces them. Here
 * symbolic links take the place of such files, since root can open any file. */
static void test_leftovers(void) {
        static const char *const names[] = { ".checkpoint.partial", CHECKPOINT_RESERVE };
        struct stat st;
        Answer written;
        Place place;
        Bed bed = {};
        int fd;

        place_open(&place);
        for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
                g_assert_cmpint(symlinkat("nowhere", place.fd, names[i]), ==, 0);

        open_bed(&bed, "", place.fd, -1);
        bed_restore(&bed);
        learner_reserve_checkpoint(bed.learner);
        g_assert_cmpint(fstatat(place.fd, CHECKPOINT_RESERVE, &st, AT_SYMLINK_NOFOLLOW), ==, 0);
        g_assert_true(S_ISREG(st.st_mode));

        (void) play(&bed, 0, 2, 0);
        fd = checkpoint(&bed, &place, 2, &written);
        g_assert_cmpint(fstatat(place.fd, "checkpoint-2.safetensors", &st, AT_SYMLINK_NOFOLLOW), ==, 0);
        g_assert_true(S_ISREG(st.st_mode));

        (void) close(fd);
        bed_close(&bed);
        place_close(&place);
}

static void test_other_jobs(void) {
        Bed bed = {};
        Answer written;
        Place place;
        int fd;

        place_open(&place);
        open_bed(&bed, "", place.fd, -1);
        bed_restore(&bed);
        play(&bed, 0, 1, 0);
        fd = checkpoint(&bed, &place, 1, &written);

        g_assert_cmpuint(restore_from("", fd).fault, ==, FAULT_NONE);
        g_assert_cmpuint(restore_from("[Learner]\nLearningRate=0.5\n", fd).fault, ==, FAULT_NONE);
        g_assert_cmpuint(restore_from("[Learner]\nHiddenLayers=6 6\n", fd).fault, ==, FAULT_CHECKPOINT);
        g_assert_cmpuint(restore_from("[Learner]\nSharedNetwork=yes\n", fd).fault, ==, FAULT_CHECKPOINT);
        g_assert_cmpuint(restore_from("[Scaling]\nActors=3\n", fd).fault, ==, FAULT_CHECKPOINT);
        g_assert_cmpuint(restore_from("[Actor]\nEnvsPerActor=2\n", fd).fault, ==, FAULT_CHECKPOINT);

        (void) close(fd);
        bed_close(&bed);
        place_close(&place);
}

/* The environment of a job with these sections: DDPG and DENOISER need actions that are numbers, and
 * Convolutions= an image. */
static ActordEnvSpec spec_for(const char *sections) {
        bool numbers = strstr(sections, "Algorithm=ddpg") || strstr(sections, "ReplaySize=400");

        ActordEnvSpec spec = bed_spec_box(3, 2, numbers ? 0 : 4);

        if (strstr(sections, "Convolutions="))
                spec.observation = (ActordSpace){
                        .kind = ACTORD_BOX, .element = ACTORD_U8, .n_dims = 2, .shape = { 9, 8 }, .high = 255
                };
        return spec;
}

/* Returns what the learner of a job with these sections says about the checkpoint. Its standard error is a
 * file meanwhile. */
static char *words_to(const char *sections, int checkpoint_fd) {
        int words = memfd_create("words", MFD_CLOEXEC), kept = dup(STDERR_FILENO);
        ActordEnvSpec spec = spec_for(sections);
        char *text = g_malloc0(4096);
        Bed bed = {};
        Answer answer;

        (void) dup2(words, STDERR_FILENO);
        bed_settings("CartPole-v1", sections, &bed.settings);
        bed_open(&bed, &spec, -1, checkpoint_fd);
        answer = bed_order(&bed, (Order){ .kind = ORDER_RESTORE });
        bed_close(&bed);
        unsilence(kept);
        g_assert_cmpint(pread(words, text, 4095, 0), >=, 0);
        (void) close(words);
        g_assert_true((answer.fault == FAULT_CHECKPOINT) == (strstr(text, " is refused: ") != NULL));
        return text;
}

/* state: the first number of the algorithm's state */
static int checkpoint_with(const char *sections, double state) {
        ActordEnvSpec spec = spec_for(sections);
        Answer written;
        Bed bed = {};
        Place place;
        int fd;

        place_open(&place);
        bed_settings("CartPole-v1", sections, &bed.settings);
        bed_open(&bed, &spec, place.fd, -1);
        bed_restore(&bed);
        bed.learner->runtime->state[0] = state;
        fd = checkpoint(&bed, &place, 0, &written);
        bed_close(&bed);
        place_close(&place);
        return fd;
}

static int checkpoint_of(const char *sections) {
        return checkpoint_with(sections, 0);
}

/* If a setting is the reason of a refusal, the sentence names it with both values. It names no setting that
 * does not matter. */
static void test_other_settings(void) {
#define SMALL               "[Scaling]\nActors=2\n[Actor]\nRolloutSteps=8\n[Learner]\nHiddenLayers=6\n"
#define DQN                 "Algorithm=dqn\n" SMALL "ReplayMin=10\n"
#define DDPG                "Algorithm=ddpg\n" SMALL "ReplayMin=10\nReplaySize=500\n"
#define OPTION(value)       "[Environment]\nSuttonBartoReward=" value "\n"
#define DENOISER(algorithm) "Algorithm=" algorithm "\n" SMALL "ReplayMin=10\nReplaySize=400\n"
        static const struct {
                const char *theirs, *ours, *says;
        } cases[] = {
                { DQN "ReplaySize=500\n", DQN "ReplaySize=1000\nLearningRate=0.5\n",
                                ": the checkpoint has [Learner] ReplaySize=500, but the job has 1000; "
                                "set it back" },
                { "Algorithm=impact\n" SMALL, "Algorithm=impact\n" SMALL "BufferBatches=2\n",
                                ": the checkpoint has [Learner] BufferBatches=4, but the job has 2; "
                                "set it back" },
                { SMALL, SMALL "HiddenLayers=6 5\n",
                                ": the checkpoint has [Learner] HiddenLayers=6, but the job has 6 5; set" },
                { SMALL, "[Scaling]\nActors=2\nMaxActors=3\n[Actor]\nRolloutSteps=8\n",
                                ": the checkpoint has [Scaling] MaxActors= unset, but the job has 3; "
                                "the checkpoint has [Learner] HiddenLayers=6, but the job has 64 64; set" },
                { SMALL, "Algorithm=a2c\n" SMALL, "" },
                { SMALL, DQN,
                                ": the checkpoint has [Job] Algorithm=ppo, but the job has dqn; set it "
                                "back" },
                { "[Distribution]\nPolicy=fused\n" SMALL, SMALL, "" },
                { DDPG, DDPG "InputAugmentation=2\n",
                                "it has [Learner] InputAugmentation=1, but the job has 2, with which its "
                                "parameters would mean something else; set it back" },
                { DDPG, DDPG "NoiseProcess=ou\n",
                                ": the checkpoint has [Learner] NoiseProcess=gaussian, but the job has ou; "
                                "set it back" },
                { DDPG "LinkEditing=1 0 1 1 1\n", DDPG,
                                "it has [Learner] LinkEditing=1 0 1 1 1, but the job has none, with" },
                { DDPG "LinkEditing=1 0 1 1 1\n", DDPG "LinkEditing=0 1 1 1 1\n",
                                "it has [Learner] LinkEditing=1 0 1 1 1, but the job has 0 1 1 1 1, with" },
                { DDPG, DDPG "PolicyInputAugmentation=2\n",
                                "it has [Learner] PolicyInputAugmentation=1, but the job has 2, with" },
                { DDPG, DDPG "PolicyLinkEditing=1 0 1\n",
                                "it has [Learner] PolicyLinkEditing= unset, but the job has 1 0 1, with" },
                { DENOISER("diffusion-ql"), DENOISER("diffusion-ql") "Passes=5\n", "" },
                { DENOISER("diffusion-ql"), DENOISER("pi-ft"), "" },
                { DENOISER("diffusion-ql"), DENOISER("pi-ft") "Passes=2\n",
                                "it has [Learner] Passes=5, but the job has 2, with which its parameters "
                                "would mean something else; set it back" },
                { DENOISER("diffusion-ql") "Passes=3\n", DENOISER("diffusion-ql"),
                                "it has [Learner] Passes=3, but the job has 5, with" },
                { DENOISER("diffusion-ql"), DENOISER("consistency"),
                                "it has [Job] Algorithm=diffusion-ql, but the job has consistency, with" },
                { DENOISER("consistency"), DENOISER("consistency") "Passes=5\n", "" },
                { SMALL "Convolutions=4x4/4\n", SMALL "Convolutions=4x4/4+1\n",
                                "it has [Learner] Convolutions=4x4/4, but the job has 4x4/4+1, with" },
                { SMALL, SMALL "Activation=relu\n",
                                "it has [Learner] Activation=tanh, but the job has relu, with" },
                { SMALL, SMALL "NormalizeObservations=yes\n",
                                "it has [Learner] NormalizeObservations=no, but the job has yes, with" },
                { SMALL OPTION("yes"), SMALL OPTION("yes"), "" },
                { SMALL OPTION("yes"), SMALL OPTION("no"),
                                ": the checkpoint has [Environment] SuttonBartoReward=yes, but the job has "
                                "no; the job goes on with its own\n" },
                { SMALL OPTION("yes"), SMALL, "SuttonBartoReward=yes, but the job has none; the job" },
                { SMALL, SMALL OPTION("no"), "SuttonBartoReward= unset, but the job has no; the job" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                int fd = checkpoint_of(cases[i].theirs);
                g_autofree char *text = words_to(cases[i].ours, fd);

                (void) close(fd);
                if (*cases[i].says ? !strstr(text, cases[i].says) : *text)
                        g_error("case %zu: \"%s\" is said, not \"%s\"", i, text, cases[i].says);
        }
}

/* The KL weight that a learner with these sections has when it has restored the checkpoint. */
static double kl_weight_of(const char *sections, int checkpoint_fd) {
        ActordEnvSpec spec = spec_for(sections);
        Bed bed = {};
        double weight;

        bed_settings("CartPole-v1", sections, &bed.settings);
        bed_open(&bed, &spec, -1, checkpoint_fd);
        bed_restore(&bed);
        weight = bed.learner->runtime->state[0];
        bed_close(&bed);
        return weight;
}

/* A job with the KLWeight= of its checkpoint goes on with the weight as it was adapted. With another
 * KLWeight=, or from an algorithm without one, the weight begins at the job's KLWeight=. */
static void test_kl_weight(void) {
        static const struct {
                const char *theirs, *ours;
                double weight;
        } cases[] = {
                { SMALL "KLWeight=0.2\n", SMALL "KLWeight=0.2\nLearningRate=0.5\n", 0.7 },
                { SMALL "KLWeight=0.2\n", SMALL, 0 },
                { SMALL "KLWeight=0.2\n", SMALL "KLWeight=0.5\n", 0.5 },
                { SMALL, SMALL "KLWeight=0.5\n", 0.5 },
                { "Algorithm=a2c\n" SMALL, SMALL "KLWeight=0.5\n", 0.5 },
                /* What impact counts here are gradient steps. */
                { "Algorithm=impact\n" SMALL "TargetInterval=9\n", SMALL, 0 },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                int fd = checkpoint_with(cases[i].theirs, 0.7);

                g_assert_cmpfloat(kl_weight_of(cases[i].ours, fd), ==, cases[i].weight);
                (void) close(fd);
        }
}

/* Writes a learner's parameters without the first `skip` tensors into a memfd, and returns its
 * descriptor. */
static int parameters_of(Bed *bed, size_t skip) {
        static TensorRow rows[SAFETENSORS_ENTRIES_MAX];
        const MetadataRow metadata = { METADATA_FORMAT, PARAMETERS_FORMAT "1" };
        size_t n = learner_parameters(bed->learner, rows);
        int fd = memfd_create("parameters", MFD_CLOEXEC);
        uint8_t sha256[32];

        g_assert_cmpint(fd, >=, 0);
        g_assert_cmpint(safetensors_write(fd, rows + skip, n - skip, &metadata, 1, sha256), ==, 0);
        return fd;
}

/* A job that begins with another job's parameters begins everything else anew, like a job that draws its
 * parameters. */
static void test_parameters(void) {
        Bed before = {}, after = {};
        const Adam *from, *to;
        Answer restored;
        int fd, short_of;

        open_bed(&before, "", -1, -1);
        bed_restore(&before);
        play(&before, 0, 3, 0);
        from = before.learner->runtime->nets[NET_POLICY];
        fd = parameters_of(&before, 0);
        short_of = parameters_of(&before, 1);

        open_bed(&after, "[Job]\nSeed=9\n[Learner]\nEpochs=3\n", -1, fd);
        restored = bed_restore(&after);
        to = after.learner->runtime->nets[NET_POLICY];
        g_assert_cmpuint(restored.round, ==, 0);
        g_assert_cmpuint(restored.policy_version, ==, 0);
        g_assert_cmpuint(restored.statistics.n_env_steps, ==, 0);
        g_assert_cmpmem(to->parameters, to->n * sizeof(float), from->parameters, from->n * sizeof(float));
        g_assert_cmpuint(to->step, ==, 0);
        g_assert_cmpuint(from->step, >, 0);
        for (size_t i = 0; i < to->n; i++)
                g_assert_cmpfloat(to->m[i], ==, 0);
        g_assert_cmpfloat(after.learner->observation->count, ==, 0);

        /* The parameters fit a job with another number of actors, but no job with another network. */
        g_assert_cmpuint(restore_from("[Scaling]\nActors=3\n[Actor]\nEnvsPerActor=2\n", fd).fault, ==,
                        FAULT_NONE);
        g_assert_cmpuint(restore_from("[Learner]\nHiddenLayers=6 6\n", fd).fault, ==, FAULT_CHECKPOINT);
        g_assert_cmpuint(restore_from("", short_of).fault, ==, FAULT_CHECKPOINT);
        before.learner->runtime->nets[NET_POLICY]->parameters[4] = NAN;
        (void) close(short_of);
        short_of = parameters_of(&before, 0);
        g_assert_cmpuint(restore_from("", short_of).fault, ==, FAULT_CHECKPOINT);

        (void) close(short_of);
        (void) close(fd);
        bed_close(&before);
        bed_close(&after);
}

/* An earlier program measured fewer statistics. Its checkpoint loads, and the missing statistics count as
 * not measured. */
static void check_fewer_statistics(uint64_t n_statistics) {
        g_autofree TensorRow *rows = g_new0(TensorRow, SAFETENSORS_ENTRIES_MAX);
        Bed before = {}, after = {};
        Answer learned, restored;
        char sha256[65];
        uint8_t file_sha256[32];
        size_t n;
        int fd = memfd_create("checkpoint", MFD_CLOEXEC);

        open_bed(&before, "", -1, -1);
        bed_restore(&before);
        learned = play(&before, 0, 2, 0);
        sha256_print(learned.sha256, sha256);
        const MetadataRow metadata[] = { { METADATA_FORMAT, CHECKPOINT_FORMAT "1" },
                { METADATA_ENVIRONMENT, before.page.spec.name }, { METADATA_POLICY_SHA256, sha256 } };

        n = learner_tensors(before.learner, 1, NULL, rows);
        for (size_t i = 0; i < n; i++)
                if (rows[i].data == &before.learner->statistics)
                        rows[i].shape[0] = n_statistics;
        g_assert_cmpint(safetensors_write(fd, rows, n, metadata, G_N_ELEMENTS(metadata), file_sha256), ==,
                        0);

        open_bed(&after, "", -1, fd);
        restored = bed_restore(&after);
        g_assert_cmpmem(restored.sha256, 32, learned.sha256, 32);
        g_assert_cmpfloat(restored.statistics.learning_rate, ==, learned.statistics.learning_rate);
        g_assert_true(isnan(restored.statistics.curvature_min) && isnan(restored.statistics.noise_scale));
        g_assert_true(isnan(restored.statistics.curvature_products));
        (void) close(fd);
        bed_close(&before);
        bed_close(&after);
}

/* Reads a checkpoint of format 1, written by the last program that used this format:
 * tests/data/checkpoint-1-*.safetensors. */
static void check_format_1(const char *path, const char *sections) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        g_autofree char *all = g_strconcat("Seed=7\n", sections, NULL);
        const ActordEnv *env = builtin_env_find("CartPole-v1");
        _cleanup_(checkpoint_close) Checkpoint checkpoint = {};
        char reason[SAFETENSORS_REASON_MAX], sha256[65];
        ActordEnvSpec spec;
        Bed bed = {};
        Answer restored;

        g_assert_cmpint(fd, >=, 0);
        g_assert_cmpint(checkpoint_open(fd, &checkpoint, reason), ==, 0);
        g_assert_cmpuint(checkpoint.format, ==, 1);
        g_assert_cmpuint(checkpoint.arithmetic, ==, 1);

        bed_settings("CartPole-v1", all, &bed.settings);
        g_assert_cmpint(env->spec(bed.settings.options, bed.settings.n_options, &spec), ==, 0);
        bed_open(&bed, &spec, -1, fd);
        restored = bed_restore(&bed);
        g_assert_cmpuint(restored.statistics.n_env_steps, ==, 128);
        g_assert_cmpuint(restored.round, ==, 8);
        sha256_print(restored.sha256, sha256);
        g_assert_cmpstr(sha256, ==, safetensors_metadata(checkpoint.file, METADATA_POLICY_SHA256));
        g_assert_cmpuint(bed.learner->runtime->nets[NET_POLICY]->step, >, 0);
        bed_close(&bed);
        (void) close(fd);
}

static void test_format_1(void) {
        check_format_1("tests/data/checkpoint-1-ppo.safetensors",
                        "[Scaling]\nActors=1\n[Actor]\nEnvsPerActor=1\nRolloutSteps=16\n"
                        "[Learner]\nHiddenLayers=4\nEpochs=2\nNormalizeObservations=yes\n");
        check_format_1("tests/data/checkpoint-1-dqn.safetensors",
                        "Algorithm=dqn\n[Scaling]\nActors=1\n[Actor]\nEnvsPerActor=1\nRolloutSteps=16\n"
                        "[Learner]\nHiddenLayers=4\nReplaySize=64\nReplayMin=16\nMinibatchSize=8\n");
}

static void test_fewer_statistics(void) {
        check_fewer_statistics(13); /* the statistics from the first one up to learning_rate */
        check_fewer_statistics(18); /* up to noise_scale */
}

/* The tensors of convolutions have the shapes that PyTorch uses. */
static void test_convolutions(void) {
        ActordEnvSpec spec = bed_spec_box(1, 1, 3);
        g_autofree TensorRow *rows = g_new0(TensorRow, SAFETENSORS_ENTRIES_MAX);
        unsigned n_found = 0;
        Bed bed = {};
        size_t n;

        spec.observation = (ActordSpace){
                .kind = ACTORD_BOX, .element = ACTORD_U8, .n_dims = 3, .shape = { 2, 9, 8 }, .high = 255
        };
        bed_settings("CartPole-v1",
                        "[Learner]\nConvolutions=8x3/2 16x2\nHiddenLayers=30\nSharedNetwork=yes\n",
                        &bed.settings);
        bed_open(&bed, &spec, -1, -1);
        n = learner_tensors(bed.learner, CHECKPOINT_FORMAT_NEWEST, NULL, rows);
        for (size_t i = 0; i < n; i++) {
                const TensorRow *row = &rows[i];

                if (g_str_equal(row->name, "networks.policy.network.2.weight")) {
                        g_assert_cmpuint(row->n_dims, ==, 4);
                        g_assert_cmpmem(row->shape, sizeof(row->shape), ((uint64_t[4]){ 16, 8, 2, 2 }), 32);
                        n_found++;
                } else if (g_str_equal(row->name, "networks.policy.network.5.weight")) {
                        g_assert_cmpuint(row->n_dims, ==, 2);
                        g_assert_cmpuint(row->shape[1], ==, 16 * 3 * 2);
                        n_found++;
                } else if (g_str_equal(row->name, "networks.policy.network.2.bias")) {
                        g_assert_cmpuint(row->n_dims, ==, 1);
                        g_assert_cmpuint(row->shape[0], ==, 16);
                        n_found++;
                }
        }
        g_assert_cmpuint(n_found, ==, 3);
        bed_close(&bed);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/checkpoint/round-trip", test_round_trip);
        g_test_add_func("/checkpoint/impossible-slot", test_impossible_slot);
        g_test_add_func("/checkpoint/leftovers", test_leftovers);
        g_test_add_func("/checkpoint/fewer-statistics", test_fewer_statistics);
        g_test_add_func("/checkpoint/format-1", test_format_1);
        g_test_add_func("/checkpoint/other-jobs", test_other_jobs);
        g_test_add_func("/checkpoint/other-settings", test_other_settings);
        g_test_add_func("/checkpoint/kl-weight", test_kl_weight);
        g_test_add_func("/checkpoint/parameters", test_parameters);
        g_test_add_func("/checkpoint/convolutions", test_convolutions);
        return g_test_run();
}
