/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From the queue into a place, from there back into the queue, and the wish that a job ends. */
#pragma once

#include "daemon/job.h"

/* To be called when the job leaves the queue, or when a restarted daemon finds it running. */
void job_turn_begin(Job *job);
/* Sends the job back to the queue after the round in flight. reason: a constant string. */
void job_go_back(Job *job, const char *reason);
/* To be called when the life has ended for that reason: the job waits for its next turn. */
void job_requeue(Job *job);
/* The end of RuntimeMaxSec=: counted from the job's first start, so that lives and restarts do not prolong
 * it, without the time that the job was back in the queue. Also between two lives. */
void job_arm_runtime(Job *job);
/* Asks the job to end. 0; -ESRCH: it has ended already. */
int job_stop(Job *job, uint32_t end, const char *reason);
