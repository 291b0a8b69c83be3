/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Opens the checkpoint that the user names: of a daemon's job, of a run, or a file. */
#pragma once

#include "actorctl/job-status.h"
#include "lib/checkpoint/checkpoint.h"

/* Gets the newest checkpoint of the job at `path`; close it. name: such as "checkpoint of job 7", for
 * messages. STATUS_OK; or another status, with a message. */
ExitStatus job_checkpoint_receive(Connection *connection, const char *path, const char *name, int *ret_fd);

/* The path of the newest checkpoint of the job of a private daemon, g_free(). It may not be there. */
char *run_checkpoint_path(const Connection *connection, const JobStatus *status);

typedef struct NamedCheckpoint {
        char *name, *text; /* name: for messages; text: the settings with which it was made, as a job file */
        int fd;
        Checkpoint checkpoint;  /* the content of fd, which is whole and has a known format */
        Connection *connection; /* to the job's daemon; NULL: the checkpoint is of a run, or a file */
} NamedCheckpoint;
#define NAMED_CHECKPOINT_NONE ((NamedCheckpoint){ .fd = -EBADF })

/* Opens the checkpoint that `what` names: of a job, of a run, or a file. STATUS_OK; or another status, with
 * a message. Call named_checkpoint_done() in both cases. */
ExitStatus named_checkpoint_open(NamedCheckpoint *checkpoint, const Options *options, const char *what);
void named_checkpoint_done(NamedCheckpoint *checkpoint);
