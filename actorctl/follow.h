/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Waiting for a job's end, with something to look at. */
#pragma once

#include "actorctl/job-status.h"
#include "actorctl/submission.h"

typedef struct Display Display;

typedef enum FollowInterrupt {
        FOLLOW_STOP,  /* Ctrl-C stops the job, a second one leaves at once */
        FOLLOW_LEAVE, /* Ctrl-C ends the waiting, not the job */
} FollowInterrupt;

/* Ctrl-C belongs to job_follow() from here on: what is pressed earlier is kept for it. */
void follow_prepare(void);

/* Returns when the job has ended: STATUS_OK, and *status is its last word (the job's own result is in there). STATUS_INTERRUPTED: left
 * before that. STATUS_FAILED: the daemon is gone, after having said so. display may be NULL. */
ExitStatus job_follow(Connection *connection, const char *path, FollowInterrupt interrupt, Display *display,
                JobStatus *status);

/* Sends a submission and follows the job, with a display unless --quiet (options NULL: without); Ctrl-C stops it. As job_follow(); *ret_path is the job's once the
 * daemon has it. */
ExitStatus submission_follow(Connection *connection, const Options *options, const Submission *submission,
                char **ret_path, JobStatus *status);
