/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "actorctl/output.h"

#include <stdio.h>
#include <string.h>

#include "actorctl/file.h"

ExitStatus output_text(const Options *options, const char *text) {
        int r;

        if (!options->output || strcmp(options->output, "-") == 0) {
                fputs(text, stdout);
                return STATUS_OK;
        }
        if (!may_replace(options->output))
                return STATUS_USAGE;
        r = file_write(options->output, text, strlen(text));
        if (r < 0) {
                complain("%s cannot be written: %s", options->output, g_strerror(-r));
                return STATUS_FAILED;
        }
        return STATUS_OK;
}
