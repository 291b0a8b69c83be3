/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Waits for the end of a job, and shows its progress. */
#pragma once

#include "actorctl/job-status.h"
#include "actorctl/job-file.h"

typedef struct Display Display;
typedef struct Metrics Metrics;

typedef enum FollowInterrupt {
        FOLLOW_STOP,  /* Ctrl-C stops the job, a second Ctrl-C leaves at once */
        FOLLOW_LEAVE, /* Ctrl-C leaves the job running */
} FollowInterrupt;

/* How much is reported about limits that are not enforced. */
typedef enum FollowLimits { LIMITS_NONE, LIMITS_LINE, LIMITS_ALL } FollowLimits;

FollowLimits follow_limits(const Options *options);

/* Blocks Ctrl-C and similar signals until job_follow() handles them; earlier ones are kept. */
void follow_prepare(void);

/* Returns when the job has ended. STATUS_OK: *status has the job's final properties and its result; if the
 * user left by the key q, the job goes on, and these are its present properties. STATUS_INTERRUPTED: the
 * user left before the end; STATUS_ENDING: the same, and a private daemon with lasting state could not write
 * the records yet, so that the caller must call follow_keep_rest().
 * STATUS_FAILED, with a message: the daemon is gone, or an error. display and metrics may be NULL. With a
 * live display, keys of the terminal are read. */
ExitStatus job_follow(Connection *connection, const char *path, FollowInterrupt interrupt,
                FollowLimits limits, Display *display, Metrics *metrics, JobStatus *status);

/* Ends the job of a private daemon at once. The records that its ledger does not take go into a directory,
 * which a message names, for `actorctl recover`; those of a temporary run are dropped. *ret_rest: the
 * directory, g_free(); "": there is none. 0; or a negative errno, with a message. */
int follow_keep_rest(Connection *connection, char **ret_rest);

/* Submits a job file and follows the job as job_follow() does. There is a display unless --quiet is given or
 * options is NULL; Ctrl-C stops the job. *ret_path is set once the daemon has the job. */
ExitStatus job_file_follow(Connection *connection, const Options *options, const JobFile *job_file,
                Metrics *metrics, char **ret_path, JobStatus *status);
