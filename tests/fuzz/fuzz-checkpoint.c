/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tries any bytes as a checkpoint. They are refused, or read without a read beyond their end. The tensors
 * that are tried are those of the fuzzer's seed files. The job's text in the metadata and the policy are
 * read, too, as `actorctl show` and `actorctl eval` do. */
#include <errno.h>
#include <glib.h>
#include <math.h>
#include <nettle/sha2.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "actorctl/checkpoint.h"
#include "actorctl/recording/policy.h"
#include "lib/settings/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_rows(const Safetensors *file) {
        static float weights[6];
        static double count;
        static uint8_t bytes[16];
        const TensorRow rows[] = {
                { "w", "F32", 2, { 2, 3 }, weights },
                { "count", "F64", 1, { 1 }, &count },
                { "bytes", "U8", 1, { 16 }, bytes },
                { "nothing", "U8", 1, { 0 }, bytes },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                int r = safetensors_read(file, &rows[i]);

                g_assert(r == 0 || r == -ENOENT || r == -EMEDIUMTYPE);
        }
}

/* Reads a file without a check of its digest. Fuzzing cannot find a digest that matches, and would not reach
 * the code after the check. */
static void try_file(int fd, size_t size) {
        static const char *const keys[] = { "format", "kernels", "" };
        char reason[SAFETENSORS_REASON_MAX] = "";
        Safetensors *file;
        uint8_t sha256[32];

        if (safetensors_open(fd, &file, reason) < 0) {
                g_assert_true(reason[0] != '\0');
                return;
        }
        for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
                const char *value = safetensors_metadata(file, keys[i]);

                g_assert_true(!value || strlen(value) <= size);
        }
        try_rows(file);
        (void) safetensors_verify(file, sha256);
        (void) safetensors_close(file);
}

/* The network is that of the file's own settings, for an environment with four numbers and two choices. */
static void try_policy(const Checkpoint *checkpoint, const JobSettings *settings) {
        const ActordEnvSpec spec = {
                .name = "CartPole-v1",
                .observation = { ACTORD_BOX, ACTORD_F32, 1, 0, { 4 }, -INFINITY, INFINITY },
                .action = { ACTORD_DISCRETE, ACTORD_I32, 0, 2 },
                .n_agents = 1,
        };
        g_autoptr(GArray) numbers = g_array_new(FALSE, TRUE, sizeof(double));
        g_autofree char *message = NULL;

        if (policy_read(checkpoint, "FILE", settings, &spec, numbers, &message) < 0)
                g_assert(message && strstr(message, "FILE"));
        else
                g_assert_cmpuint(numbers->len, >, 8);
}

static void try_job(const Checkpoint *checkpoint) {
        g_autofree char *text = NULL, *message = NULL, *wrong = NULL;
        JobSettings settings;

        if (checkpoint_job_text(checkpoint, "FILE", &text, &message) < 0) {
                g_assert(message && strstr(message, "FILE"));
                return;
        }
        if (settings_parse(text, "FILE", NULL, 0, NULL, &settings, &wrong) < 0)
                g_assert(wrong && g_utf8_validate(wrong, -1, NULL));
        else
                try_policy(checkpoint, &settings);
}

static void try_checkpoint(int fd) {
        char reason[SAFETENSORS_REASON_MAX] = "";
        Checkpoint checkpoint;

        if (checkpoint_open(fd, &checkpoint, reason) < 0) {
                g_assert_true(reason[0] != '\0');
                return;
        }
        g_assert_cmpuint(checkpoint.format, >, 0);
        try_rows(checkpoint.file);
        try_job(&checkpoint);
        checkpoint_close(&checkpoint);
}

/* Writes the right digest into the file. Fuzzing cannot find it, and would not reach the code after the
 * check. */
static void set_digest(int fd, const uint8_t *data, size_t size) {
        uint8_t digest[SHA256_DIGEST_SIZE];
        struct sha256_ctx sha;

        if (size < sizeof(digest))
                return;
        sha256_init(&sha);
        sha256_update(&sha, size - sizeof(digest), data);
        sha256_digest(&sha, sizeof(digest), digest);
        g_assert_true(pwrite(fd, digest, sizeof(digest), (off_t) (size - sizeof(digest))) == sizeof(digest));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        int fd = memfd_create("fuzz", MFD_CLOEXEC);

        g_assert_cmpint(fd, >=, 0);
        g_assert_true(write(fd, data, size) == (ssize_t) size);
        try_file(fd, size);
        try_checkpoint(fd);
        set_digest(fd, data, size);
        try_checkpoint(fd);
        (void) close(fd);
        return 0;
}
