/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The job is over. It is `ended` when that is durable, and until then `ending`: the commit is tried again by
 * itself, and job_step() follows. */
#pragma once

#include "daemon/job.h"

void job_finish(Job *job, uint32_t end, const char *sentence);
/* Ends a queued job in the same way. */
void job_end_queued(Job *job, uint32_t end, const char *sentence);
/* The job fails, since another try would fail the same; or it ends as it was asked to. */
void job_give_up(Job *job, const char *sentence);
/* If the last record of a life was the job's last, queues the job's end behind that record. Returns whether
 * it was. */
bool job_end_by_records(Job *job);
/* Queues the end behind all records of the job: they are one transaction. */
void job_queue_end(Job *job);
/* For a job that an older program ended: the sums of its records go into its row and the totals, queued
 * as an end is. */
int job_sum_up(Job *job);
/* After a restart: takes up an end that was durable when the daemon was killed, and of which the invoker
 * does not know yet. */
void job_take_up_end(Job *job);
