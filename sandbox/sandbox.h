/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A sandbox is data, prepared once before any fork (filters are compiled there), and entered by the forked child in one visible order;
 * a step that fails ends the child with that step's exit status. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "include/launch.h"
#include "include/sandbox.h"
#include "include/settings.h"

typedef enum SandboxKind { SANDBOX_ACTOR, SANDBOX_LEARNER } SandboxKind;

typedef struct Sandbox Sandbox; /* one per kind and job; immutable once made */

typedef struct SandboxSpec {
        uint32_t kind, level; /* SandboxKind, SandboxLevel */
        uint32_t n_uids;      /* of the user namespace; 1: identity is shared */
        const JobSettings *settings;
        const LaunchMount *mounts; /* what the job brought: descriptors from INVOKER_FD_MOUNTS on */
        uint32_t n_mounts;
        bool libraries; /* the root carries the host's /usr and linker cache, read-only: for plugins and the learner */
} SandboxSpec;

/* Builds the root and compiles the filter. 0 or a negative errno; *ret_missing: bits of Limit. */
int sandbox_new(const SandboxSpec *spec, Sandbox **ret, uint32_t *ret_missing);
Sandbox *sandbox_free(Sandbox *sandbox);

/* Flags for the clone3() that makes a child of this sandbox (CLONE_NEWPID | CLONE_NEWNS | …; 0 at level process). */
uint64_t sandbox_clone_flags(const Sandbox *sandbox);

typedef struct SandboxEntry { /* what differs from child to child */
        uint32_t uid;         /* inside the user namespace; nobody else's where n_uids allows */
        const int *keep_fds;  /* everything else above 2 is closed */
        size_t n_keep_fds;
        const char *name; /* comm: actord-actor, actord-learner */
} SandboxEntry;

/* In the child: applies all steps, or _exit()s with the step's status. Afterwards an actor can do arithmetic, wait and ring. */
void sandbox_enter(const Sandbox *sandbox, const SandboxEntry *entry);
