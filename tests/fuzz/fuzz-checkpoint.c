/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Any bytes as a checkpoint: refused, or read; and what is read lies within the file. The rows are those of the seeds. */
#include <errno.h>
#include <glib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "learner/safetensors.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        static const char *const keys[] = { "format", "kernels", "" };
        int fd = memfd_create("fuzz", MFD_CLOEXEC);
        Safetensors *file;

        g_assert(fd >= 0);
        g_assert(write(fd, data, size) == (ssize_t) size);
        if (safetensors_open(fd, &file) == 0) {
                for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
                        const char *value = safetensors_metadata(file, keys[i]);

                        g_assert(!value || strlen(value) <= size);
                }
                try_rows(file);
                safetensors_close(file);
        }
        (void) close(fd);
        return 0;
}
