/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The checkpoint that the next life of a job (the next start of its processes) begins with. */
#pragma once

#include "daemon/job.h"

/* fd: the checkpoint, opened, and verified if this job wrote it; -ENOENT: the life begins without one; or
 * another negative errno. round: the checkpoint's round; 0: this job did not write the checkpoint. */
typedef void (*CheckpointChosen)(Job *job, int fd, uint64_t round);

/* Chooses the checkpoint. The journal names damaged checkpoints that are newer than the chosen one, and they
 * are not used any more. `chosen` is called at once, or later if large files must be read. */
void job_checkpoint_choose(Job *job, CheckpointChosen chosen);
CheckpointSearch *checkpoint_search_free(CheckpointSearch *search);
