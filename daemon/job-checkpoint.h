/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The checkpoint that the next life of a job begins with. */
#pragma once

#include "daemon/job.h"

/* fd: the checkpoint, opened and compared; -ENOENT: the life begins with nothing; another negative errno.
 * round: the checkpoint's; 0: this job did not write it. */
typedef void (*CheckpointChosen)(Job *job, int fd, uint64_t round);

/* Newer checkpoints than the chosen one are damaged, are named in the journal, and count no more. `chosen`
 * is called at once, or when large files have been read. */
void job_checkpoint_choose(Job *job, CheckpointChosen chosen);
CheckpointSearch *checkpoint_search_free(CheckpointSearch *search);
