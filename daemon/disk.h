/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The disk space of jobs' files. The ledger has a number for each job and the sum of each user's: they
 * are looked at where a job's files change, one directory at a time; there is no walk over all of them. */
#pragma once

#include "daemon/job-context.h"

/* Counts the bytes of a job's files, of which there may be none, and writes them to the ledger. */
void disk_count(JobContext *context, uint64_t job);

/* To be called when the checkpoint of round job->durable_round counts. Removes the checkpoints that Keep=
 * does not keep, and all but the newest if the user has no room for them. */
void disk_prune(Job *job);
