/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The disk space of jobs' files. The ledger has the number of bytes of each job, and their sum for each
 * user. When a job's files change, only the job's own directory is read to update them. */
#pragma once

#include "daemon/job-context.h"

/* Adds up the bytes of a job's files, if it has any, and writes the sum to the ledger. */
void disk_count(JobContext *context, uint64_t job);

/* Call this when the row of the checkpoint of round job->durable_round is in the ledger. Removes the
 * checkpoints that exceed Keep=, and all but the newest if they exceed the user's disk quota. Writes the sum
 * of the bytes that are left to the ledger. */
void disk_prune(Job *job);
