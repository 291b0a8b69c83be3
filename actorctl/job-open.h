/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Opens the job that the user names: one of the daemon, or that of an `actorctl run`. */
#pragma once

#include "actorctl/bus.h"

/* Opens the job that a word names. "7": job 7 of the daemon that the options name. "r7", or a run's
 * directory: the job of this run; a private daemon shows its records. STATUS_OK; or another status, with a
 * message. */
ExitStatus job_open(const Options *options, const char *word, Connection **ret, char **ret_path);
/* Refuses the options that name a daemon, since what the user has named is `what`, such as "a file".
 * STATUS_OK; or STATUS_USAGE, with a message. */
ExitStatus job_needs_no_daemon(const Options *options, const char *word, const char *what);
/* Whether the daemon has job "7". STATUS_OK; or another status, with a message. If there is a run of this
 * number, the message says so. */
ExitStatus job_check(Connection *connection, const char *number);
/* The job's name in messages: "job 7", "run r7"; g_free(). */
char *job_called(const char *word);
