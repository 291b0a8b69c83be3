/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The job's cgroup, which is delegated to the invoker. Its child cgroups (leaves) are one for the invoker,
 * one for each learner, and one for each container, unless the container has a scope of its own
 * (ActorScope=each). All are reached through directory descriptors, never by a path from the root. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "include/settings.h"

typedef enum Controller {
        CONTROLLER_CPU = 1 << 0,
        CONTROLLER_MEMORY = 1 << 1,
        CONTROLLER_PIDS = 1 << 2,
        CONTROLLER_CPUSET = 1 << 3,
} Controller;

typedef struct Cgroup {
        int fd;               /* -EBADF: there is none */
        uint32_t controllers; /* the controllers that leaves have */
} Cgroup;

typedef struct LeafLimits {
        uint64_t memory_bytes;
        uint32_t n_tasks;
        uint32_t cpu_permille;      /* 0: no limit */
        const setting_cpuset *cpus; /* NULL: all CPUs */
} LeafLimits;

typedef struct Leaf {
        char name[32];
        int fd;
} Leaf;

/* What a leaf's memory.events counts. The kernel kills a process of the leaf for lack of memory if the leaf
 * or a cgroup above it has reached its limit, or if the host has no memory left. */
typedef struct OutOfMemory {
        uint64_t n_limit; /* how often the leaf had reached its own limit when a process needed memory */
        uint64_t n_kills; /* how many processes of the leaf were killed, for any of the three reasons */
} OutOfMemory;

#define LEAF_EMPTY \
        { .fd = -EBADF }

/* Moves the caller into a leaf of its own, unless it is there already, and enables every available one of
 * these controllers for leaves. */
int cgroup_enter(Cgroup *cgroup);
/* Like cgroup_enter(), for an actor with a scope of its own (ActorScope=each). It moves the scope's first
 * process into a leaf instead of the caller. This process only keeps the scope alive. */
int cgroup_enter_scope(int slice_fd, const char *name, Cgroup *ret);

/* Makes an empty leaf with its limits. */
int leaf_make(const Cgroup *cgroup, const char *name, const LeafLimits *limits, Leaf *ret);
void leaf_done(const Cgroup *cgroup, Leaf *leaf, bool remove);

/* Makes a threaded cgroup below a leaf, for one thread of the leaf's process. Returns the directory of the
 * cgroup; -EOPNOTSUPP and others: the kernel allows none here. */
int leaf_make_thread(const Leaf *leaf, uint32_t k);
/* Moves a thread into the cgroup of leaf_make_thread(), or back if thread_fd is the leaf's own directory.
 * The thread's process must be in the leaf. */
int leaf_move_thread(int thread_fd, pid_t tid);
void leaf_remove_thread(const Leaf *leaf, uint32_t k);

/* leaf_freeze() takes effect after a moment. leaf_kill() sends SIGKILL, which ends frozen processes, too. */
void leaf_freeze(const Leaf *leaf, bool freeze);
void leaf_kill(const Leaf *leaf);
/* 0 for both if the kernel counts neither. */
OutOfMemory leaf_out_of_memory(const Leaf *leaf);

/* Prints "0-3,8" for cpuset.cpus. Returns its length. */
size_t cpuset_print(const setting_cpuset *cpus, char *ret, size_t n);
