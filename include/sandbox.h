/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The steps of a sandbox in their order, with an exit status and a word for each; the three levels; and the
 * limits that a host may lack. */
#pragma once

/* Tables and layouts are aligned by hand. */
/* clang-format off */

#include <errno.h>
#include <stdint.h>

/* X(name, exit status), in the order in which they are applied; seccomp is last. */
#define SANDBOX_STEPS(X)                                                                     \
        X(cgroup, 200) X(descriptors, 201) X(namespaces, 202) X(root, 203) X(limits, 204)    \
        X(identity, 205) X(capabilities, 206) X(landlock, 207) X(affinity, 208) X(seccomp, 209)

typedef enum SandboxStep {
#define X(name, status) SANDBOX_STEP_##name,
        SANDBOX_STEPS(X)
#undef X
        _SANDBOX_STEP_MAX, _SANDBOX_STEP_INVALID = -EINVAL,
} SandboxStep;

/* Exit statuses of an actor that ends by itself after its sandbox has closed, and of a learner that cannot
 * begin. */
enum { EXIT_ENVIRONMENT_LOAD = 220, EXIT_ABORTED = 221, EXIT_LEARNER_SETUP = 222 };
/* The exit status of a relay (invoker/relay.h) whose node is gone. */
#define EXIT_NODE_LOST 227

/* X(errno, exit status): for a learner that could not begin because of a limit of the host. */
#define LEARNER_LIMITS(X) X(ENOMEM, 223) X(EAGAIN, 224) X(EMFILE, 225) X(EFBIG, 226)
/* The dynamic loader's exit status: a library is missing, or there was no memory to map it. */
#define EXIT_LOADER 127

#define SANDBOX_LEVELS(X) X(NONE, "none") X(PROCESS, "process") X(USERNS, "userns") X(FULL, "full")

typedef enum SandboxLevel {
#define X(name, word) SANDBOX_LEVEL_##name,
        SANDBOX_LEVELS(X)
#undef X
        _SANDBOX_LEVEL_MAX, _SANDBOX_LEVEL_INVALID = -EINVAL,
} SandboxLevel;

/* X(name, word, sentence): bits of Record.limits_missing, and words of LimitsNotEnforced. */
#define LIMITS(X)                                                                                       \
        X(NAMESPACES, "namespaces",                                                                     \
                "actors share the host's namespaces: by Sandbox=, or this host forbids them")           \
        X(IDENTITY, "identity", "actors share one user id: no range of user ids is reserved for them")  \
        X(LANDLOCK, "landlock", "Landlock does not close files: Sandbox=none, or a kernel without it")  \
        X(SECCOMP, "seccomp", "system calls are not filtered: Sandbox=none, or a debugging build")      \
        X(CGROUP, "cgroup", "no writable cgroup: process clocks meter, idle actors are not frozen")     \
        X(MEMORY, "memory", "no memory controller: only RLIMIT_AS and RLIMIT_DATA enforce MemoryMax=") \
        X(TASKS, "tasks", "no pids controller: only the system call filter enforces TasksMax=")         \
        X(CPU_QUOTA, "cpu-quota", "no cpu controller: CPUQuota= is not enforced")                       \
        X(CPUS, "cpus", "no cpuset controller: only sched_setaffinity() enforces AllowedCPUs=")    \
        X(CPU_WEIGHT, "cpu-weight", "no cpu controller: Shares= sets no weight, and all jobs are equal")

typedef enum Limit {
#define X(name, word, sentence) LIMIT_##name,
        LIMITS(X)
#undef X
        _LIMIT_MAX,
} Limit;

/* The futex words that an actor shares with another process (include/turn.h, include/slot.h) lie in one
 * address range with this size and alignment. The filter allows a futex without FUTEX_PRIVATE only in this
 * range. On a page of a file, such as libc's, such a futex could signal to an actor of another job that maps
 * the same file. No file may ever be mapped in the range. So the whole range is reserved before the filter
 * takes effect. After that an actor can neither unmap it nor choose addresses below SANDBOX_OWN_ADDRESSES.
 * If the range could not be reserved (invoker/fork.c), the filter allows such futexes at any address. */
#define SANDBOX_WORDS_BYTES   (UINT64_C(1) << 40)
#define SANDBOX_OWN_ADDRESSES (UINT64_C(1) << 46)
