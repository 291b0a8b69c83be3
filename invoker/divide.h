/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What one process used, thread by thread, where its leaf may have threaded children (cgroup v2): each
 * thread in a cgroup of its own, read like any other. Elsewhere there is nothing to read, and a thread's
 * own clock is all that is known of it. */
#pragma once

#include <stdint.h>
#include <sys/types.h>
#include "invoker/cgroup.h"
#include "invoker/meter.h"

typedef struct ThreadMeters {
        uint32_t n; /* 0: threads are not metered */
        Meter *meters;
} ThreadMeters;

/* Moves a process's threads, as many as they must be, each into a cgroup below the process's leaf, in the
 * order in which they began. What cannot be done leaves everything as it was. */
int thread_meters_init(const Leaf *leaf, int proc_fd, pid_t pid, uint32_t n, ThreadMeters *ret);
/* The process has ended. */
void thread_meters_done(ThreadMeters *meters, const Leaf *leaf);

/* A reading among those who have a part in it, first, first + stride, ..., in the ratio of what they
 * claim: pure. All of it goes to somebody, in equal parts where nobody claims anything. CLAIM_NONE stays
 * as it is: it has no part. */
#define CLAIM_NONE UINT64_MAX
void divide_reading(uint64_t reading_nsec, uint32_t first, uint32_t stride, uint32_t n, uint64_t *claims);
