/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The present usage of a job's processes: CPU time from the clocks of the job's cgroup, memory from /proc.
 * Every user may read both, so this program need not ask the daemon. */
#pragma once

#include <glib.h>
#include <stdint.h>
#include <sys/types.h>

/* One of a job's cgroups that has a process. Its name: "invoker", "learner", "actor-3". */
typedef struct UsagePart {
        char *name;
        pid_t pid; /* of its first process */
        uint64_t cpu_usec, memory_bytes;
} UsagePart;

/* UsageParts, in the order of their names; g_array_unref(). Empty: the job has no cgroup that can be read.
 * control_group: the job's property; "": there is none. */
GArray *usage_parts(const char *control_group);
/* The sums over the job's processes; the CPU time includes those that have ended. false: there is no such
 * cgroup. */
gboolean usage_of(const char *control_group, uint64_t *ret_cpu_usec, uint64_t *ret_memory_bytes);
