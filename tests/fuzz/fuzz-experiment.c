/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads arbitrary bytes as the file of an experiment. experiment_parse() must refuse them with a sentence on
 * standard error, or make an experiment. The job file that an experiment names is a seed of
 * tests/fuzz/fuzz-settings/. */
#include <fcntl.h>
#include <glib.h>
#include <stdint.h>
#include <unistd.h>

#include "actorctl/experiment/experiment.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Parses with stderr at /dev/null. The sentences on stderr are for people, and a fuzzer would print a
 * million of them. */
static ExitStatus parse_quietly(const char *text, Experiment **ret) {
        int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC), kept = dup(STDERR_FILENO);
        ExitStatus status;

        g_assert(nowhere >= 0 && kept >= 0 && dup2(nowhere, STDERR_FILENO) >= 0);
        status = experiment_parse("tests/fuzz/fuzz-settings/an.exp", text, ret);
        g_assert(dup2(kept, STDERR_FILENO) >= 0);
        (void) close(nowhere);
        (void) close(kept);
        return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        g_autofree char *text = g_strndup((const char *) data, size);
        Experiment *experiment = NULL;

        if (parse_quietly(text, &experiment) == STATUS_OK)
                g_assert(experiment);
        else
                g_assert(!experiment);
        (void) experiment_free(experiment);
        return 0;
}
