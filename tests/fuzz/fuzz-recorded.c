/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Feeds arbitrary bytes to the readers of two files that actorctl writes itself: the decisions of a job
 * (Scaling policy replay) and the outcome of an experiment's cell. They must read the file as a whole, or
 * refuse it after a sentence on standard error. */
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "actorctl/decisions.h"
#include "actorctl/experiment/experiment.h"
#include "lib/fd.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Discards stderr, since the functions under test print a sentence for each error. Returns the old
 * stderr. */
static int silence(void) {
        int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC), kept = dup(STDERR_FILENO);

        g_assert(nowhere >= 0 && kept >= 0 && dup2(nowhere, STDERR_FILENO) >= 0);
        (void) close(nowhere);
        return kept;
}

static void try_decisions(const char *path) {
        GArray *counts = NULL;

        if (decisions_of_file(path, &counts) < 0) {
                g_assert_null(counts);
                return;
        }
        g_assert_cmpuint(counts->len, >, 0);
        g_assert(decisions_mean(counts, counts->len) >= 1);
        g_array_unref(counts);
}

/* Reads the input as the result of an experiment's cell: cell.json is a link to it. */
static void try_outcome(const char *path) {
        static const char name[] = "cell.json";
        g_autofree char *folder = g_dir_make_tmp("actord-fuzz-XXXXXX", NULL), *file = NULL;
        Experiment experiment = { .file_name = (char *) "an.exp" };
        Cell cell = { .name = (char *) "cell", .definition = (char *) "d" };

        g_assert_nonnull(folder);
        file = g_build_filename(folder, name, NULL);
        g_assert_cmpint(symlink(path, file), ==, 0);
        if (outcome_read(&experiment, &cell, folder) == 1)
                for (Metric m = 0; m < _METRIC_MAX; m++)
                        (void) outcome_metric(cell.outcome, m, 0.5);
        else
                g_assert_null(cell.outcome);
        (void) outcome_free(cell.outcome);
        (void) g_unlink(file);
        (void) g_rmdir(folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        int fd = memfd_make_sealed("recorded", data, size), kept;
        g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", fd);

        g_assert_cmpint(fd, >=, 0);
        kept = silence();
        try_decisions(path);
        try_outcome(path);
        g_assert(dup2(kept, STDERR_FILENO) >= 0);
        (void) close(kept);
        (void) close(fd);
        return 0;
}
