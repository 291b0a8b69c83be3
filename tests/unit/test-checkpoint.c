/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A job that goes on from its checkpoint ends with the bits of one that never stopped; a file that is cut, flipped or of another job is
 * refused, and nothing of it ends the process. */
#include <fcntl.h>
#include <glib/gstdio.h>
#include <inttypes.h>
#include <nettle/sha2.h>
#include <sys/mman.h>
#include <unistd.h>

#include "learner/blas.h"
#include "tests/unit/learner-fixture.h"

#define SECTIONS                                                          \
        "[Scaling]\nActors=2\n[Actor]\nEnvsPerActor=3\nRolloutSteps=16\n" \
        "[Learner]\nHiddenLayers=6 5\nEpochs=2\nMinibatchSize=32\nNormalizeObservations=yes\nNormalizeRewards=yes\nKLWeight=0.2\n"

typedef struct Place {
        char *directory;
        int fd;
} Place;

static void place_open(Place *place) {
        place->directory = g_dir_make_tmp("checkpoint-XXXXXX", NULL);
        place->fd = open(place->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        g_assert_cmpint(place->fd, >=, 0);
}

static void place_close(Place *place) {
        g_autoptr(GDir) dir = g_dir_open(place->directory, 0, NULL);
        const char *name;

        while ((name = g_dir_read_name(dir)))
                (void) unlinkat(place->fd, name, 0);
        (void) g_rmdir(place->directory);
        (void) close(place->fd);
        g_free(place->directory);
}

static ActordEnvSpec some_spec(void) {
        ActordEnvSpec spec = bed_spec_box(3, 2, 0);

        spec.horizon_steps = 9;
        return spec;
}

static void open_bed(Bed *bed, const char *more, int state_fd, int checkpoint_fd) {
        g_autofree char *sections = g_strconcat(SECTIONS, more, NULL);
        ActordEnvSpec spec = some_spec();

        bed_settings("CartPole-v1", sections, &bed->settings);
        bed_open(bed, &spec, state_fd, checkpoint_fd);
}

/* Rounds first + 1 .. end, with each actor's bytes in its snapshots changing too. */
static Answer play(Bed *bed, uint64_t first, uint64_t end, uint32_t parity) {
        Answer learned = {};

        for (uint64_t round = first; round < end; round++) {
                uint32_t bank = (uint32_t) (round + parity) & 1;

                for (uint32_t a = 0; a < 2; a++) {
                        bed_fill(bed, a, bank, (uint32_t) round);
                        for (uint32_t e = 0; e < 3; e++)
                                memset(segment_snapshot_bytes(
                                                       bed->segments[a], &bed->page.segment, bank ^ 1, e),
                                                (int) (round * 6 + a * 3 + e), 64);
                        bed_take(bed, a, bank);
                }
                learned = bed_learn(bed, round, 2);
        }
        return learned;
}

static int checkpoint(Bed *bed, const Place *place, uint64_t round, Answer *ret) {
        g_autofree char *name = g_strdup_printf("checkpoint-%" PRIu64 ".safetensors", round);
        int fd;

        for (uint32_t a = 0; a < 2; a++) {
                bed->worker.ordinals[a] = 100 + round + a;
                bed->worker.banks[a] = round & 1;
        }
        *ret = bed_order(bed, (Order){ .kind = ORDER_CHECKPOINT, .round = round });
        g_assert_cmpuint(ret->fault, ==, FAULT_NONE);
        fd = openat(place->fd, name, O_RDONLY | O_CLOEXEC);
        g_assert_cmpint(fd, >=, 0);
        return fd;
}

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

        /* The hash is of what lies there. */
        {
                g_autofree char *path = g_strdup_printf("%s/checkpoint-5.safetensors", place.directory);

                g_assert_true(g_file_get_contents(path, (char **) &content, &n, NULL));
                sha256_init(&sha);
                sha256_update(&sha, n, content);
                sha256_digest(&sha, 32, sha256);
                g_assert_cmpmem(sha256, 32, written.sha256, 32);
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

        /* Bank 0 is the one to read now, where it was bank 1. */
        learned = play(&after, 5, 8, 1);
        g_assert_cmpmem(learned.sha256, 32, expected.sha256, 32);
        g_assert_cmpmem(&learned.statistics, sizeof(Statistics), &expected.statistics, sizeof(Statistics));

        (void) close(fd);
        bed_close(&whole);
        bed_close(&before);
        bed_close(&after);
        place_close(&place);
}

static Answer restore_from(const char *more, int fd) {
        Bed bed = {};
        Answer answer;
        int kept = silence();

        open_bed(&bed, more, -1, fd);
        answer = bed_order(&bed, (Order){ .kind = ORDER_RESTORE });
        bed_close(&bed);
        unsilence(kept);
        return answer;
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

/* What the learner says to a checkpoint of this job; its standard error is a file meanwhile. */
static char *words_to(const char *sections, int checkpoint_fd) {
        int words = memfd_create("words", MFD_CLOEXEC), kept = dup(STDERR_FILENO);
        ActordEnvSpec spec = bed_spec_box(3, 2, 4);
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
        g_assert_true((answer.fault == FAULT_CHECKPOINT) == (*text != 0));
        return text;
}

static int checkpoint_of(const char *sections) {
        ActordEnvSpec spec = bed_spec_box(3, 2, 4);
        Answer written;
        Bed bed = {};
        Place place;
        int fd;

        place_open(&place);
        bed_settings("CartPole-v1", sections, &bed.settings);
        bed_open(&bed, &spec, place.fd, -1);
        bed_restore(&bed);
        fd = checkpoint(&bed, &place, 0, &written);
        bed_close(&bed);
        place_close(&place);
        return fd;
}

/* Whoever is refused for a setting reads which one, with both values, and nothing of those that shape nothing. */
static void test_other_settings(void) {
#define SMALL "[Scaling]\nActors=2\n[Actor]\nRolloutSteps=8\n[Learner]\nHiddenLayers=6\n"
#define DQN   "Algorithm=dqn\n" SMALL "ReplayMin=10\n"
        static const struct {
                const char *theirs, *ours, *says;
        } cases[] = {
                { DQN "ReplaySize=500\n", DQN "ReplaySize=1000\nLearningRate=0.5\n",
                                ": [Learner] ReplaySize= was 500 and is 1000; leave that as it was" },
                { "Algorithm=impact\n" SMALL, "Algorithm=impact\n" SMALL "BufferBatches=2\n",
                                ": [Learner] BufferBatches= was 4 and is 2; leave that as it was" },
                { SMALL, SMALL "HiddenLayers=6 5\n",
                                ": [Learner] HiddenLayers= was 6 and is 6 5; leave that" },
                { SMALL, "[Scaling]\nActors=2\nMaxActors=3\n[Actor]\nRolloutSteps=8\n",
                                ": [Scaling] MaxActors= was unset and is 3, [Learner] HiddenLayers= was 6 and is 64 64; leave that" },
                { SMALL, "Algorithm=a2c\n" SMALL, "" },
                { SMALL, DQN, ": [Job] Algorithm= was ppo and is dqn; leave that as it was" },
                { "[Distribution]\nPolicy=fused\n" SMALL, SMALL, "" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                int fd = checkpoint_of(cases[i].theirs);
                g_autofree char *text = words_to(cases[i].ours, fd);

                (void) close(fd);
                if (*cases[i].says ? !strstr(text, cases[i].says) : *text)
                        g_error("case %zu: \"%s\" is said, not \"%s\"", i, text, cases[i].says);
        }
}

/* The last n - skip of a learner's parameters as a file of their own. */
static int parameters_of(Bed *bed, size_t skip) {
        static TensorRow rows[SAFETENSORS_ENTRIES_MAX];
        const MetadataRow metadata = { METADATA_FORMAT, PARAMETERS_FORMAT };
        size_t n = learner_parameters(bed->learner, rows);
        int fd = memfd_create("parameters", MFD_CLOEXEC);
        uint8_t sha256[32];

        g_assert_cmpint(fd, >=, 0);
        g_assert_cmpint(safetensors_write(fd, rows + skip, n - skip, &metadata, 1, sha256), ==, 0);
        return fd;
}

/* A job that begins with another one's parameters begins in everything else: as one does that has drawn them itself. */
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

        /* Other actors do not matter, another network does. */
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

/* A temporary file with these bytes. */
static int file_of(const char *content, gsize n) {
        int fd = memfd_create("checkpoint", MFD_CLOEXEC);

        g_assert_cmpint(fd, >=, 0);
        g_assert_cmpint(write(fd, content, n), ==, n);
        return fd;
}

/* Tried on one learner over and over, since opening one takes most of the time. */
static unsigned count_accepted(Bed *bed, char *content, gsize n) {
        int fd = file_of(content, n);
        unsigned accepted;

        bed->learner->context.checkpoint_fd = fd;
        accepted = bed_order(bed, (Order){ .kind = ORDER_RESTORE }).fault == FAULT_NONE;
        (void) close(fd);
        return accepted;
}

static void test_damage(void) {
        g_autofree char *content = NULL, *damaged = NULL;
        g_autoptr(GRand) rand = g_rand_new_with_seed(12);
        unsigned n_accepted = 0;
        Bed bed = {};
        Answer written;
        Place place;
        gsize n;
        int fd, kept;

        place_open(&place);
        open_bed(&bed, "", place.fd, -1);
        bed_restore(&bed);
        play(&bed, 0, 2, 0);
        fd = checkpoint(&bed, &place, 2, &written);
        {
                g_autofree char *path = g_strdup_printf("%s/checkpoint-2.safetensors", place.directory);

                g_assert_true(g_file_get_contents(path, &content, &n, NULL));
        }
        kept = silence();
        g_assert_cmpuint(count_accepted(&bed, content, n), ==, 1);

        for (gsize length = 0; length < n; length += length < 64 ? 1 : 37)
                g_assert_cmpuint(count_accepted(&bed, content, length), ==, 0);
        g_assert_cmpuint(count_accepted(&bed, content, n - 1), ==, 0);

        /* A flipped bit of a snapshot or a setting cannot be told from another snapshot: the file's hash in the ledger does that. */
        damaged = g_malloc(n + 1);
        for (unsigned i = 0; i < 4000; i++) {
                memcpy(damaged, content, n);
                for (int k = g_rand_int_range(rand, 1, 4); k > 0; k--)
                        damaged[g_rand_int_range(rand, 0, (int) (i % 2 ? n : 8192))] ^=
                                        (char) (1 << g_rand_int_range(rand, 0, 8));
                n_accepted += count_accepted(&bed, damaged, n);
        }
        memcpy(damaged, content, n);
        g_assert_cmpuint(count_accepted(&bed, damaged, n + 1), ==, 0);
        unsilence(kept);
        g_test_message("%u of 4000 damaged files were accepted", n_accepted);
        g_assert_cmpuint(n_accepted, <, 3600);

        (void) close(fd);
        bed_close(&bed);
        place_close(&place);
}

/* Other kernels compute other bits: refused, unless the job says that it does not mind. */
static void test_kernels(void) {
        g_autofree char *content = NULL, *path = NULL,
                        *pattern = g_strdup_printf("\"kernels\":\"%s\"", blas_kernel_name());
        Bed bed = {};
        Answer written;
        Place place;
        gsize n;
        char *at;
        int fd;

        place_open(&place);
        open_bed(&bed, "", place.fd, -1);
        bed_restore(&bed);
        play(&bed, 0, 1, 0);
        (void) close(checkpoint(&bed, &place, 1, &written));
        path = g_strdup_printf("%s/checkpoint-1.safetensors", place.directory);
        g_assert_true(g_file_get_contents(path, &content, &n, NULL));

        at = g_strstr_len(content + 8, (gssize) n - 8, pattern);
        g_assert_nonnull(at);
        at[strlen("\"kernels\":\"")] = 'X';
        fd = file_of(content, n);
        g_assert_cmpuint(restore_from("", fd).fault, ==, FAULT_CHECKPOINT);
        g_assert_cmpuint(restore_from("[Learner]\nKernelClass=haswell\n", fd).fault, ==, FAULT_NONE);

        (void) close(fd);
        bed_close(&bed);
        place_close(&place);
}

/* Damage of what matters, byte by byte: weights and their statistics are hashed. */
static void test_weights(void) {
        g_autofree char *content = NULL;
        Bed bed = {};
        Answer written;
        Place place;
        const char *at;
        uint64_t begin, header;
        gsize n;
        int fd, kept;

        place_open(&place);
        open_bed(&bed, "", place.fd, -1);
        bed_restore(&bed);
        play(&bed, 0, 1, 0);
        fd = checkpoint(&bed, &place, 1, &written);
        {
                g_autofree char *path = g_strdup_printf("%s/checkpoint-1.safetensors", place.directory);

                g_assert_true(g_file_get_contents(path, &content, &n, NULL));
        }
        memcpy(&header, content, 8);
        at = g_strstr_len(content + 8, (gssize) header, "\"actor_mean.0.weight\"");
        g_assert_nonnull(at);
        at = strstr(at, "data_offsets");
        begin = g_ascii_strtoull(at + strlen("data_offsets\":["), NULL, 10);

        kept = silence();
        for (unsigned i = 0; i < 18 * 4; i++) {
                content[8 + header + begin + i] ^= 1;
                g_assert_cmpuint(count_accepted(&bed, content, n), ==, 0);
                content[8 + header + begin + i] ^= 1;
        }
        g_assert_cmpuint(count_accepted(&bed, content, n), ==, 1);
        unsilence(kept);

        (void) close(fd);
        bed_close(&bed);
        place_close(&place);
}

/* A checkpoint of a program that measured less goes on; what it lacks was not measured. */
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
        const MetadataRow metadata[] = { { METADATA_FORMAT, CHECKPOINT_FORMAT },
                { METADATA_ENVIRONMENT, before.page.spec.name }, { METADATA_KERNELS, blas_kernel_name() },
                { METADATA_POLICY_SHA256, sha256 } };

        n = learner_tensors(before.learner, NULL, rows);
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

static void test_fewer_statistics(void) {
        check_fewer_statistics(13); /* up to learning_rate */
        check_fewer_statistics(18); /* up to noise_scale */
}

/* Shaped as PyTorch has them. */
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
        n = learner_tensors(bed.learner, NULL, rows);
        for (size_t i = 0; i < n; i++) {
                const TensorRow *row = &rows[i];

                if (g_str_equal(row->name, "network.2.weight")) {
                        g_assert_cmpuint(row->n_dims, ==, 4);
                        g_assert_cmpmem(row->shape, sizeof(row->shape), ((uint64_t[4]){ 16, 8, 2, 2 }), 32);
                        n_found++;
                } else if (g_str_equal(row->name, "network.5.weight")) {
                        g_assert_cmpuint(row->n_dims, ==, 2);
                        g_assert_cmpuint(row->shape[1], ==, 16 * 3 * 2);
                        n_found++;
                } else if (g_str_equal(row->name, "network.2.bias")) {
                        g_assert_cmpuint(row->n_dims, ==, 1);
                        g_assert_cmpuint(row->shape[0], ==, 16);
                        n_found++;
                }
        }
        g_assert_cmpuint(n_found, ==, 3);
        bed_close(&bed);
}

/* An algorithm's own numbers can be finite and still impossible: a file that says that a life's work is owed would be worked off first. */
static void test_owed(void) {
        static const double owed[] = { 0.5, 1.0, -0.5, 1e18 };
        ActordEnvSpec spec = bed_spec_box(3, 2, 4);
        Bed bed = {};
        Place place;
        int kept;

        place_open(&place);
        bed_settings("CartPole-v1",
                        "Algorithm=dqn\n[Scaling]\nActors=2\n[Actor]\nEnvsPerActor=3\nRolloutSteps=8\n",
                        &bed.settings);
        bed_open(&bed, &spec, place.fd, -1);
        bed_restore(&bed);
        kept = silence();
        for (unsigned i = 0; i < G_N_ELEMENTS(owed); i++) {
                Answer written;

                bed.learner->runtime->state[0] = owed[i];
                bed.learner->context.checkpoint_fd = checkpoint(&bed, &place, i, &written);
                g_assert_cmpuint(bed_order(&bed, (Order){ .kind = ORDER_RESTORE }).fault, ==,
                                i == 0 ? FAULT_NONE : FAULT_CHECKPOINT);
                (void) close(bed.learner->context.checkpoint_fd);
        }
        unsilence(kept);
        bed_close(&bed);
        place_close(&place);
}

static void test_full_disk(void) {
        Bed bed = {};
        Answer answer;
        Place place;
        int kept;

        place_open(&place);
        open_bed(&bed, "", place.fd, -1);
        bed_restore(&bed);
        (void) close(bed.learner->context.state_fd);
        place.fd = bed.learner->context.state_fd =
                        open("/proc/self/fdinfo", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        kept = silence();
        answer = bed_order(&bed, (Order){ .kind = ORDER_CHECKPOINT, .round = 1 });
        unsilence(kept);
        g_assert_cmpuint(answer.fault, ==, FAULT_CHECKPOINT);
        g_assert_cmpint(answer.detail, >, 0);

        (void) close(place.fd);
        place.fd = open(place.directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        bed_close(&bed);
        place_close(&place);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/checkpoint/round-trip", test_round_trip);
        g_test_add_func("/checkpoint/fewer-statistics", test_fewer_statistics);
        g_test_add_func("/checkpoint/other-jobs", test_other_jobs);
        g_test_add_func("/checkpoint/other-settings", test_other_settings);
        g_test_add_func("/checkpoint/parameters", test_parameters);
        g_test_add_func("/checkpoint/kernels", test_kernels);
        g_test_add_func("/checkpoint/damage", test_damage);
        g_test_add_func("/checkpoint/weights", test_weights);
        g_test_add_func("/checkpoint/convolutions", test_convolutions);
        g_test_add_func("/checkpoint/owed", test_owed);
        g_test_add_func("/checkpoint/no-place", test_full_disk);
        return g_test_run();
}
