/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A note about a run, in its directory. `actorctl runs` prints it, even while the run's daemon holds the
 * ledger. */
#pragma once

#include "actorctl/job-status.h"

typedef struct RunNote {
        char *job_file;   /* its absolute path; "": not known */
        JobStatus status; /* of the run's job; only the members that the list shows */
} RunNote;

#define RUN_NOTE_EMPTY ((RunNote){ .job_file = g_strdup(""), .status = job_status_empty() })

/* Writes the note in place of an older one. If it cannot be written, the ledger still has everything except
 * the job file's name. */
void run_note_write(const char *directory, const char *job_file, const JobStatus *status);
/* Reads a run's note into an empty one. Returns whether there is a readable note. */
bool run_note_read(const char *directory, RunNote *ret);
/* Fills *status from the ledger, by a private daemon. Returns whether the ledger can be read. The only
 * messages are those of connection_open_run(). */
bool run_ledger_read(const char *directory, JobStatus *status);
/* Finds in the ledger how the run ended, and writes a new note. This is for a run whose actorctl was killed:
 * its note was not renewed. */
void run_note_renew(const char *directory, RunNote *note);
void run_note_done(RunNote *note);
