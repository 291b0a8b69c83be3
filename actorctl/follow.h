/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Waits for the end of a job and shows its progress. */
#pragma once

#include "actorctl/job-status.h"
#include "actorctl/job-file.h"

typedef struct Display Display;

typedef enum FollowInterrupt {
        FOLLOW_STOP,  /* Ctrl-C stops the job, a second Ctrl-C leaves at once */
        FOLLOW_LEAVE, /* Ctrl-C leaves the job running */
} FollowInterrupt;

/* Blocks Ctrl-C and its like until job_follow() handles them; one that comes earlier is kept. */
void follow_prepare(void);

/* Returns when the job has ended. STATUS_OK: *status holds its final properties, with the job's own
 * result. STATUS_INTERRUPTED: the user left before the end. STATUS_FAILED: the daemon is gone, with a
 * message. quiet: without the list of limits that are not enforced. display may be NULL. */
ExitStatus job_follow(Connection *connection, const char *path, FollowInterrupt interrupt, bool quiet,
                Display *display, JobStatus *status);

/* Submits a job file and follows the job as job_follow() does, with a display unless --quiet (options
 * NULL: without one); Ctrl-C stops it. *ret_path is set once the daemon has the job. */
ExitStatus job_file_follow(Connection *connection, const Options *options, const JobFile *job_file,
                char **ret_path, JobStatus *status);
