/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds an invoker that hangs, and kills one that is late. */
#pragma once

#include "daemon/job.h"

#define EXIT_TIMEOUT_USEC (10ull * 1000 * 1000)

/* The invoker has started, or was found again. */
void job_watch_start(Job *job);
/* The invoker has said something. */
void job_watch_heard(Job *job);
/* After so long the invoker is killed. what: a sentence that lasts, or NULL. */
void job_arm_deadline(Job *job, uint64_t usec, const char *what);
