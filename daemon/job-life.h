/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Begins a life of a job (its processes, from the newest checkpoint on), or connects to a life that runs. */
#pragma once

#include "daemon/job.h"

/* How long to wait before the next try when the host lacks something. n: how often the job has waited
 * before. The wait is 0.1 s at first, and doubles up to 51 s. */
static inline uint64_t job_delay_usec(uint64_t n) {
        return 100ull * 1000 << (n < 9 ? n : 9);
}

void job_start(Job *job);
/* Starts the job after wait_usec. name: the timer's name. Negative: there is no memory. */
int job_start_later(Job *job, const char *name, uint64_t wait_usec);
/* After a restart of the daemon: connects to a running invoker, or begins the next life. Negative: the
 * job's records cannot be read, so its work could not be billed. */
int job_adopt(Job *job);
