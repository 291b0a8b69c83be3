/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A Sandbox describes how a child process is confined. It is prepared once, before any fork, with its
 * seccomp filter compiled. A forked child enters it by the steps of SANDBOX_STEPS, in their order. A step
 * that fails ends the child with the step's exit status. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "include/launch.h"
#include "include/sandbox.h"
#include "include/settings.h"
#include "lib/verdict.h"

typedef enum SandboxKind { SANDBOX_ACTOR, SANDBOX_LEARNER } SandboxKind;

typedef struct Sandbox Sandbox; /* a job has one for each kind of process; it never changes */

typedef struct SandboxSpec {
        uint32_t kind, level; /* SandboxKind, SandboxLevel */
        uint32_t n_uids;      /* user ids in the user namespace; 1: actors share one id */
        const JobSettings *settings;
        const LaunchMount *mounts; /* files that came with the job: descriptors from INVOKER_FD_MOUNTS on */
        uint32_t n_mounts;
        /* whether the root has the host's /usr and linker cache, read-only: for plugins, the learner and
         * relays (invoker/relay.h) */
        bool libraries;
        /* with libraries: a forbidden call fails with EPERM and does not end the process */
        bool interpreter;
        uint64_t memory_max_bytes; /* of the process */
        /* whether a cgroup's controller limits the memory; otherwise RLIMIT_AS and RLIMIT_DATA do */
        bool memory_limited;
        /* the lowest number of the sandbox's own descriptors: a child uses lower numbers for others */
        int fd_floor;
        /* the learner's binary, the only program that the process may become; -EBADF: there is none */
        int executable_fd;
        int state_fd; /* the only directory in which the process may write; -EBADF: there is none */
} SandboxSpec;

/* Builds the root and compiles the filter. 0 or a negative errno. *ret_missing: the limits that this sandbox
 * lacks, because of its level or of the host, as bits of Limit (include/sandbox.h). */
int sandbox_new(const SandboxSpec *spec, Sandbox **ret, uint32_t *ret_missing);
Sandbox *sandbox_free(Sandbox *sandbox);

/* Keeps the caller from gaining privileges, and forbids calls that neither it nor its children need
 * (host.c). Call this before any other work for a job. 0 or a negative errno. */
int sandbox_confine_parent(void);

/* Leaves the host's file system for ever. Call this when every sandbox is made. The caller's root becomes
 * the small file system with the sandboxes' roots, so a child copies no other mounts. Does nothing if no
 * root was built. */
int sandbox_leave_host(void);

/* Whether the kernel maps memory at SANDBOX_OWN_ADDRESSES and above. If not (ulimit -s unlimited,
 * vm.legacy_va_layout=1), the filter has no rule about addresses. */
bool sandbox_has_high_addresses(void);

/* Flags for the clone3() that makes a child of this sandbox (CLONE_NEWPID | CLONE_NEWNS | …; 0 below
 * level userns). */
uint64_t sandbox_clone_flags(const Sandbox *sandbox);

typedef struct SandboxEntry { /* values that differ from child to child */
        uint32_t uid;         /* in the user namespace; no other actor shares it if n_uids allows that */
        const int *keep_fds;  /* in ascending order; all others above 2 are closed */
        size_t n_keep_fds;
        /* An eventfd that tells the parent that the child has a descriptor table of its own. It is for a
         * child that was made with CLONE_FILES. The child closes it. -EBADF: the child has its own table
         * from the start. */
        int apart_fd;
        int cgroup_fd;         /* the cgroup to move into; -EBADF: none, or the child started in it */
        uint64_t mapped_bytes; /* shared memory, which RLIMIT_AS must not count */
        /* The start of the range of SANDBOX_WORDS_BYTES that is reserved for shared futexes; 0: there is
         * none, and they may be anywhere. */
        uint64_t words_at;
        const char *name; /* for comm and the host's name: actord-actor, actord-relay, actord-learner */
        /* where the child notes the step that failed; NULL: only the exit status reports a failure */
        Verdict *verdict;
} SandboxEntry;

/* In the child: applies all steps, or ends with the step's status. Afterwards an actor can only compute,
 * wait, write to stderr, and wake the invoker by an eventfd (its bell); with `libraries`, it can also read
 * the files of its root. */
void sandbox_enter(const Sandbox *sandbox, const SandboxEntry *entry);
