/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A checkpoint that was cut, has a flipped bit, or was made up is refused, and does not end the process. A
 * job may go on from a checkpoint of another version of the arithmetic, and all its later checkpoints name
 * that version. */
#include <fcntl.h>
#include <nettle/sha2.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "tests/unit/checkpoint-fixture.h"

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

        /* Flips one bit anywhere: in the header, the metadata, the weights, the optimiser, the snapshots or
         * the digest itself. */
        damaged = g_malloc(n + 1);
        for (unsigned i = 0; i < 4000; i++) {
                memcpy(damaged, content, n);
                damaged[i % 2 ? g_rand_int_range(rand, 0, (int) n) : (int) (i * (n / 4000))] ^=
                                (char) (1 << g_rand_int_range(rand, 0, 8));
                n_accepted += count_accepted(&bed, damaged, n);
        }
        memcpy(damaged, content, n);
        g_assert_cmpuint(count_accepted(&bed, damaged, n + 1), ==, 0);
        unsilence(kept);
        g_assert_cmpuint(n_accepted, ==, 0);

        (void) close(fd);
        bed_close(&bed);
        place_close(&place);
}

/* Writes the digest anew, as if the file had been written with this content. */
static void reseal(char *content, gsize n) {
        struct sha256_ctx sha;

        sha256_init(&sha);
        sha256_update(&sha, n - SHA256_DIGEST_SIZE, (const uint8_t *) content);
        sha256_digest(&sha, SHA256_DIGEST_SIZE, (uint8_t *) content + n - SHA256_DIGEST_SIZE);
}

/* Continues from a checkpoint whose arithmetic has this version. expected: the next checkpoint's text about
 * the earlier version, "1 until round 1"; NULL: it must have none. */
static void check_arithmetic_before(char version, const char *expected) {
        const char *pattern = "\"arithmetic\":\"2\"";
        _cleanup_(checkpoint_close) Checkpoint next = {};
        g_autofree char *content = NULL, *path = NULL;
        char reason[SAFETENSORS_REASON_MAX], *at;
        Bed bed = {}, after = {};
        Answer written;
        Place place;
        int fd, kept;
        gsize n;

        place_open(&place);
        open_bed(&bed, "", place.fd, -1);
        bed_restore(&bed);
        play(&bed, 0, 1, 0);
        (void) close(checkpoint(&bed, &place, 1, &written));
        path = g_strdup_printf("%s/checkpoint-1.safetensors", place.directory);
        g_assert_true(g_file_get_contents(path, &content, &n, NULL));

        at = g_strstr_len(content + 8, (gssize) n - 8, pattern);
        g_assert_nonnull(at);
        at[strlen(pattern) - 2] = version;
        reseal(content, n);
        fd = file_of(content, n);
        open_bed(&after, "", place.fd, fd);
        kept = silence();
        g_assert_cmpuint(bed_restore(&after).fault, ==, FAULT_NONE);
        unsilence(kept);
        play(&after, 1, 2, 1);
        (void) close(fd);
        fd = checkpoint(&after, &place, 2, &written);
        g_assert_cmpint(checkpoint_open(fd, &next, reason), ==, 0);
        g_assert_cmpstr(safetensors_metadata(next.file, METADATA_ARITHMETIC), ==, "2");
        g_assert_cmpstr(safetensors_metadata(next.file, METADATA_ARITHMETIC_BEFORE), ==, expected);

        (void) close(fd);
        bed_close(&bed);
        bed_close(&after);
        place_close(&place);
}

static void test_arithmetic(void) {
        check_arithmetic_before('2', NULL);
        check_arithmetic_before('1', "1 until round 1");
        check_arithmetic_before('9', "9 until round 1");
}

/* A file whose digest is valid is not trusted yet: the policy in it has a hash of its own. This hash covers
 * each byte of the weights and of the statistics. */
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
        at = g_strstr_len(content + 8, (gssize) header, "\"networks.policy.actor_mean.0.weight\"");
        g_assert_nonnull(at);
        at = strstr(at, "data_offsets");
        begin = g_ascii_strtoull(at + strlen("data_offsets\":["), NULL, 10);

        kept = silence();
        for (unsigned i = 0; i < 18 * 4; i++) {
                content[8 + header + begin + i] ^= 1;
                reseal(content, n);
                g_assert_cmpuint(count_accepted(&bed, content, n), ==, 0);
                content[8 + header + begin + i] ^= 1;
        }
        reseal(content, n);
        g_assert_cmpuint(count_accepted(&bed, content, n), ==, 1);
        unsilence(kept);

        (void) close(fd);
        bed_close(&bed);
        place_close(&place);
}

/* A checkpoint whose algorithm state is finite but impossible is refused: a file could claim that 1e18
 * gradient steps are due, which the learner would take before any other work. */
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
        g_test_add_func("/checkpoint-damage/bits", test_damage);
        g_test_add_func("/checkpoint-damage/arithmetic", test_arithmetic);
        g_test_add_func("/checkpoint-damage/weights", test_weights);
        g_test_add_func("/checkpoint-damage/owed", test_owed);
        g_test_add_func("/checkpoint-damage/no-place", test_full_disk);
        return g_test_run();
}
