/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A sandbox is data, prepared once before any fork (filters are compiled there), and entered by the forked
 * child in one visible order; a step that fails ends the child with that step's exit status. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "include/launch.h"
#include "include/sandbox.h"
#include "include/settings.h"
#include "lib/verdict.h"

typedef enum SandboxKind { SANDBOX_ACTOR, SANDBOX_LEARNER } SandboxKind;

typedef struct Sandbox Sandbox; /* one per kind and job; immutable once made */

typedef struct SandboxSpec {
        uint32_t kind, level; /* SandboxKind, SandboxLevel */
        uint32_t n_uids;      /* of the user namespace; 1: identity is shared */
        const JobSettings *settings;
        const LaunchMount *mounts; /* what the job brought: descriptors from INVOKER_FD_MOUNTS on */
        uint32_t n_mounts;
        /* the root carries the host's /usr and linker cache, read-only: for plugins and the learner */
        bool libraries;
        bool interpreter; /* with libraries: a forbidden call fails with EPERM, the process goes on */
        uint64_t memory_max_bytes; /* of the process */
        bool memory_limited;       /* by a controller; otherwise RLIMIT_AS and RLIMIT_DATA stand in */
        /* the sandbox's own descriptors are this number or above: a child uses those below for others */
        int fd_floor;
        int executable_fd; /* the learner's binary, the only program it may become; -EBADF: none */
        int state_fd;      /* the directory it may write in; -EBADF: none */
} SandboxSpec;

/* Builds the root and compiles the filter. 0 or a negative errno; *ret_missing: bits of Limit. */
int sandbox_new(const SandboxSpec *spec, Sandbox **ret, uint32_t *ret_missing);
Sandbox *sandbox_free(Sandbox *sandbox);

/* The caller gives up new privileges and the calls that neither it nor its children need (host.c). To be
 * called before anything else is done for a job. 0 or a negative errno. */
int sandbox_confine_parent(void);

/* Leaves the host's file system for good, once every sandbox is made: the caller's root becomes the small
 * file system that holds the sandboxes' roots, so that a child copies no other mounts. Does nothing where
 * no root was built. */
int sandbox_leave_host(void);

/* Whether the kernel maps memory at SANDBOX_OWN_ADDRESSES and above. Where it does not (ulimit -s unlimited,
 * vm.legacy_va_layout=1), the filter has no rule about addresses. */
bool sandbox_has_high_addresses(void);

/* Flags for the clone3() that makes a child of this sandbox (CLONE_NEWPID | CLONE_NEWNS | …; 0 at level
 * process). */
uint64_t sandbox_clone_flags(const Sandbox *sandbox);

typedef struct SandboxEntry { /* what differs from child to child */
        uint32_t uid;         /* inside the user namespace; shared with no other actor where n_uids allows */
        const int *keep_fds;  /* ascending; everything else above 2 is closed */
        size_t n_keep_fds;
        int cgroup_fd;         /* a leaf to move into; -EBADF: the child was born in its leaf */
        uint64_t mapped_bytes; /* shared memory that the limit of addresses must not count */
        /* Start of the stretch of SANDBOX_WORDS_BYTES; 0: there is none, and futexes may be anywhere. */
        uint64_t words_at;
        const char *name; /* comm: actord-actor, actord-learner */
        /* Shared with the parent alone, and unmapped at the end; NULL: the exit status alone tells. */
        Verdict *verdict;
} SandboxEntry;

/* In the child: applies all steps, or _exit()s with the step's status. Afterwards an actor can do
 * arithmetic, wait and ring. */
void sandbox_enter(const Sandbox *sandbox, const SandboxEntry *entry);
