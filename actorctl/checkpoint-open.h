/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The checkpoint that the user names: that of a job of the daemon, of a run, or a file. */
#pragma once

#include "actorctl/bus.h"
#include "lib/checkpoint/checkpoint.h"

/* The newest checkpoint of the job at `path`, to be closed. name: for messages, as "checkpoint of job 7".
 * STATUS_OK; else after having said why. */
ExitStatus job_checkpoint_receive(Connection *connection, const char *path, const char *name, int *ret_fd);

typedef struct NamedCheckpoint {
        char *name, *text; /* name: for messages; text: the settings that it was made with, as a job file */
        int fd;
        Checkpoint checkpoint;  /* the content of fd, whole and of a format that we know */
        Connection *connection; /* to the daemon that has the job; NULL: a run, or a file */
} NamedCheckpoint;
#define NAMED_CHECKPOINT_NONE ((NamedCheckpoint){ .fd = -EBADF })

/* STATUS_OK; else after having said why. Either way: named_checkpoint_done(). */
ExitStatus named_checkpoint_open(NamedCheckpoint *checkpoint, const Options *options, const char *what);
void named_checkpoint_done(NamedCheckpoint *checkpoint);
