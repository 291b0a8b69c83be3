/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A line about a run, in its directory: `actorctl runs` prints it, also while the run's daemon holds the
 * ledger. */
#pragma once

#include "actorctl/job-status.h"

typedef struct RunNote {
        char *job_file;   /* as the user named it; "": not known */
        JobStatus status; /* of its job; only what the list shows */
} RunNote;

#define RUN_NOTE_EMPTY ((RunNote){ .job_file = g_strdup(""), .status = job_status_empty() })

/* Writes it, in place of an older one. A note that cannot be written is left out: the ledger has all of
 * it but the file's name. */
void run_note_write(const char *directory, const char *job_file, const JobStatus *status);
/* Into an empty one. Whether there is one that can be read. */
bool run_note_read(const char *directory, RunNote *ret);
/* Fills *status from the ledger, by a private daemon. Whether it can be read; if not, nothing is said. */
bool run_ledger_read(const char *directory, JobStatus *status);
void run_note_done(RunNote *note);
