/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files of metrics, written by the program that follows a job. The daemon opens no path of a user, so it
 * cannot write them; the ledger has all rounds, so a file can also be written later. */
#pragma once

#include "actorctl/job-rounds.h"
#include "actorctl/job-status.h"

typedef struct Metrics Metrics;

/* Whether a word is FORMAT:PATH with a format that we know; else *ret_reason, g_free(), says what it must
 * be. */
bool metrics_word_check(const char *word, char **ret_reason);

/* Opens all files before there is a job, so that a wrong path stops nothing that has begun. They keep what
 * they have until there is something to write. words: of "FORMAT:PATH". of_key: from Metrics= of a job file,
 * which replaces less (actorctl/metrics/sink.h). *ret is NULL where there is none. STATUS_OK; or another
 * status, with a message. */
ExitStatus metrics_open(const GPtrArray *words, bool of_key, Metrics **ret);
/* Writes the rounds that are new. The newest one is left for the next call, since its evaluation may still
 * be under way, unless the job has ended. Errors of the daemon are left for the next call, too. metrics
 * may be NULL. */
void metrics_update(Metrics *metrics, Connection *connection, const char *path, const JobStatus *job);
/* The same, with a message where the daemon has no rounds to give. 0, or a negative errno. */
int metrics_write(Metrics *metrics, Connection *connection, const char *path, const JobStatus *job);
/* The same for a job that has ended; with a message, too, for each file that then lacks rounds. metrics may
 * be NULL. */
void metrics_finish(Metrics *metrics, Connection *connection, const char *path, const JobStatus *job);
/* Whether each file took everything. NULL: there is none. */
bool metrics_complete(const Metrics *metrics);
Metrics *metrics_close(Metrics *metrics);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Metrics, metrics_close)
