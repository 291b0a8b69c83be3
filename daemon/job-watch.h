/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds an invoker that hangs, and kills one that is late. */
#pragma once

#include "daemon/job.h"

#define EXIT_TIMEOUT_USEC (10ull * 1000 * 1000)

/* Call this when the invoker has started, or was found again. */
void job_watch_start(Job *job);
/* Call this when the invoker has sent anything. */
void job_watch_heard(Job *job);
/* Sets the job's deadline, in place of an earlier one. After usec the invoker is killed, or gets more time
 * while it waits for the daemon or for a checkpoint. what: a constant string with the reason, or NULL. */
void job_arm_deadline(Job *job, uint64_t usec, const char *what);
