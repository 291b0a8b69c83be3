/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files of metrics. The program that follows a job writes them, since the daemon opens no path of a user.
 * The ledger has all rounds, so a file can also be written later. */
#pragma once

#include "actorctl/job-rounds.h"
#include "actorctl/job-status.h"

typedef struct Metrics Metrics;

/* Whether a word is FORMAT:PATH with a known format. If not, *ret_reason has the reason, g_free(). */
bool metrics_word_check(const char *word, char **ret_reason);

/* Opens all files before there is a job, so that a wrong path is noticed early. Files keep their old content
 * until there are rounds to write. words: texts "FORMAT:PATH". of_key: the words come from Metrics= of a job
 * file, which may replace fewer files (actorctl/metrics/sink.h). *ret is left as it is if there is no file.
 * STATUS_OK; or another status, with a message. */
ExitStatus metrics_open(const GPtrArray *words, bool of_key, Metrics **ret);
/* Writes the new rounds. Unless the job has ended, the newest round is left for the next call, since its
 * evaluation may not be over. After an error of the daemon, rounds are left for the next call, too. metrics
 * may be NULL. */
void metrics_update(Metrics *metrics, Connection *connection, const char *path, const JobStatus *job);
/* Like metrics_update(), with a message if the daemon gives no rounds. 0, or a negative errno. */
int metrics_write(Metrics *metrics, Connection *connection, const char *path, const JobStatus *job);
/* Like metrics_write(), for a job that has ended, also with a message for each file that lacks rounds.
 * metrics may be NULL. */
void metrics_finish(Metrics *metrics, Connection *connection, const char *path, const JobStatus *job);
/* Whether each file has all rounds. metrics NULL: there are no files. */
bool metrics_complete(const Metrics *metrics);
Metrics *metrics_close(Metrics *metrics);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Metrics, metrics_close)
