/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Ends a job. The job is `ending` until its end is durable in the ledger, its invoker is gone and its cgroup
 * is removed, and then `ended`. A commit that fails is repeated. */
#pragma once

#include "daemon/job.h"

/* Loads the sums of the job's records, which its bill needs when it ends. A restarted daemon may not have
 * read them yet. Negative: they cannot be read now, but another try may succeed, so the job should end
 * later. */
int job_prepare_end(Job *job);
void job_finish(Job *job, uint32_t end, const char *sentence);
/* Like job_finish(), for a queued job. A restarted daemon may not have read the records of such a job
 * yet. */
void job_end_queued(Job *job, uint32_t end, const char *sentence);
/* Fails the job, since another try would fail in the same way; or ends it as it was asked to end. */
void job_give_up(Job *job, const char *sentence);
/* If the last record of a life says that the job is over, queues the job's end behind that record. Returns
 * whether it did. */
bool job_end_by_records(Job *job);
/* Queues the end behind all records of the job, so that they are committed in one transaction. */
void job_queue_end(Job *job);
/* For a job that ended under an older version of actord: queues the sums of its records for its row and for
 * the totals, as at an end. */
int job_sum_up(Job *job);
/* After a restart, for a job whose end is in the ledger but was not announced before the daemon was killed:
 * makes the job `ending` again, so that the invoker hears of it and the end is announced. */
void job_take_up_end(Job *job);
