/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Moves a job from the queue into a place (one of MaxJobs=) and back, and ends it when a user asks for
 * that. */
#pragma once

#include "daemon/job.h"

#define JOB_FROZEN_REASON "a user froze it"

/* Call this when the job leaves the queue, or when a restarted daemon finds it running. */
void job_turn_begin(Job *job);
/* Sends the job back to the queue after the round in flight. reason: a constant string. */
void job_go_back(Job *job, const char *reason);
/* Call this when the life has ended after job_go_back(): the job then waits for its next turn. */
void job_requeue(Job *job);
/* Keeps the job in the queue until it is thawed. A running job goes back to the queue after the round in
 * flight. A frozen job stays frozen over restarts of the daemon. 0: the job is frozen now; -ESRCH: it has
 * ended or is about to end; -EOPNOTSUPP: the job could not go on later. */
int job_freeze(Job *job);
/* Lets a frozen job go on. 0: the job is not frozen now; -ESRCH: it has ended or is about to end. */
int job_thaw(Job *job);
/* Watches RuntimeMaxSec=. The time counts from the job's first start, so lives and restarts do not prolong
 * it, and it also counts between two lives. Time that the job spent back in the queue does not count. */
void job_arm_runtime(Job *job);
/* How much of RuntimeMaxSec= is left. now_usec: since 1970, as the times of the row. */
uint64_t runtime_left_usec(const LedgerJob *row, uint64_t most_usec, uint64_t now_usec);
/* Asks the job to end, and notes in the ledger that it was asked. 0; -ESRCH: it has ended already; another
 * negative errno: nothing has changed, since its records cannot be read now (job_prepare_end()). */
int job_stop(Job *job, uint32_t end, const char *reason);
/* Tells the job's invoker that the job was asked to end. Call this again when a restarted daemon has found
 * the job. */
void job_ask_to_end(Job *job);
