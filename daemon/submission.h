/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The content of a caller's message before it is checked: a job's text, overrides of its settings, files and
 * options. Reading it changes nothing else, so tests can try any message. */
#pragma once

#include <glib.h>
#include <stdint.h>
#include <systemd/sd-bus.h>

#include "lib/directory.h"
#include "lib/settings/settings.h"

#define OVERRIDES_MAX      256u
#define OVERRIDE_BYTES_MAX 4096u
#define EPISODES_MAX       1000000u

typedef struct Submission {
        char *text, *file_name;
        GArray *overrides; /* SettingOverride; the strings belong to the message and the daemon's settings */
        int environment_fd, dataset_fd, checkpoint_fd, stderr_fd; /* borrowed */
        Directories directories;                                  /* borrowed */
        uint32_t purpose;
        uint64_t n_episodes;
        const char *sheet_text;     /* of PriceSheet=./FILE, borrowed; NULL: there is none */
        const void *scheduler_data; /* borrowed; NULL: none */
        size_t n_scheduler_data;

        JobSettings settings;
        char *sheet, *currency;
} Submission;

/* Reads a message. from_fd: for SubmitJobFile. may_stderr: whether a file `stderr` is accepted. The message
 * must outlive the submission. Call submission_done() after an error, too. */
int submission_read(sd_bus_message *m, bool from_fd, bool may_stderr, Submission *ret, sd_bus_error *error);
void submission_done(Submission *s);

/* Lines "Section.Key=VALUE", as the ledger keeps them. Parsing cuts `lines` into the strings that the
 * overrides point to. */
char *overrides_print(const GArray *overrides);
void overrides_parse(char *lines, GArray *overrides);
