/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Any bytes as a checkpoint: refused, or read; and what is read lies within the file. The rows are those of the seeds. */
#include <errno.h>
#include <glib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/checkpoint.h"

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

/* Behind the digest, which no search finds, so that what lies behind it is searched, too. */
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

static void try_checkpoint(int fd) {
        char reason[SAFETENSORS_REASON_MAX] = "";
        Checkpoint checkpoint;

        if (checkpoint_open(fd, &checkpoint, reason) < 0) {
                g_assert_true(reason[0] != '\0');
                return;
        }
        g_assert_cmpuint(checkpoint.format, >, 0);
        try_rows(checkpoint.file);
        checkpoint_close(&checkpoint);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        int fd = memfd_create("fuzz", MFD_CLOEXEC);

        g_assert_cmpint(fd, >=, 0);
        g_assert_true(write(fd, data, size) == (ssize_t) size);
        try_file(fd, size);
        try_checkpoint(fd);
        (void) close(fd);
        return 0;
}
