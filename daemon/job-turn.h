/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From the queue into a place, from there back into the queue, and the wish that a job ends. */
#pragma once

#include "daemon/job.h"

#define JOB_FROZEN_REASON "a user froze it"

/* To be called when the job leaves the queue, or when a restarted daemon finds it running. */
void job_turn_begin(Job *job);
/* Sends the job back to the queue after the round in flight. reason: a constant string. */
void job_go_back(Job *job, const char *reason);
/* To be called when the life has ended for that reason: the job waits for its next turn. */
void job_requeue(Job *job);
/* Keeps the job in the queue until it is thawed; one that runs goes back there after the round in flight.
 * It lasts over restarts of the daemon. 0, also if it is frozen already; -ESRCH: it has ended, or is to end;
 * -EOPNOTSUPP: it could not go on later. */
int job_freeze(Job *job);
/* 0, also if it is not frozen; -ESRCH as above. */
int job_thaw(Job *job);
/* The end of RuntimeMaxSec=: counted from the job's first start, so that lives and restarts do not prolong
 * it, without the time that the job was back in the queue. Also between two lives. */
void job_arm_runtime(Job *job);
/* Asks the job to end. 0; -ESRCH: it has ended already. */
int job_stop(Job *job, uint32_t end, const char *reason);
