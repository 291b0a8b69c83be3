/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The CPU time of single threads of a process. If the cgroup of the process may have threaded children
 * (cgroup v2), each thread gets a cgroup of its own, which is read like any other cgroup. Otherwise only the
 * threads' own clocks measure their use. */
#pragma once

#include <stdint.h>
#include <sys/types.h>
#include "invoker/cgroup.h"
#include "invoker/meter.h"

typedef struct ThreadMeters {
        uint32_t n; /* 0: threads are not metered */
        Meter *meters;
} ThreadMeters;

/* Moves each of the n threads of a process into a cgroup of its own below the cgroup of the process (its
 * leaf), in the order in which the threads began. On failure, all threads are back in the leaf. */
int thread_meters_init(const Leaf *leaf, int proc_fd, pid_t pid, uint32_t n, ThreadMeters *ret);
/* Removes the threads' cgroups. Call this when the process has ended. */
void thread_meters_done(ThreadMeters *meters, const Leaf *leaf);

/* Divides a reading among claims[first], claims[first + stride], ..., and replaces each claim by its part:
 * in the ratio of the claims, or equally if all are 0. A claim CLAIM_NONE gets no part, and stays as it is.
 * The parts add up to the reading. Pure. */
#define CLAIM_NONE UINT64_MAX
void divide_reading(uint64_t reading_nsec, uint32_t first, uint32_t stride, uint32_t n, uint64_t *claims);
