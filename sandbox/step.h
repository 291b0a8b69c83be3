/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Internals of a sandbox: the data that the steps of enter.c read, and the functions that make root, rules
 * and filter before these steps. */
#pragma once

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "sandbox/sandbox.h"

#define SANDBOX_ROOT_MAX 64u

struct Sandbox {
        uint32_t kind, level, n_uids;
        bool libraries, memory_limited, stderr_is_file;
        /* the name of the built root in sandbox_stage(); empty: there is none */
        char root[SANDBOX_ROOT_MAX];
        int ruleset_fd; /* for Landlock; -EBADF: the kernel has none */
        int executable_fd;
        pid_t parent; /* its death ends the child, even without a PID namespace */
        uint32_t n_threads, n_actors;
        uint64_t memory_max_bytes;
        setting_cpuset allowed_cpus;
        bool has_cpus;
        struct sock_fprog filter; /* len 0: there is none */
};

/* root.c: builds the root of a sandbox in a small file system of its own. Fills sandbox->root. */
int sandbox_root_build(const SandboxSpec *spec, Sandbox *sandbox);

/* The directory with the roots: a place on the host; or /, once the invoker has made this directory its own
 * root. */
const char *sandbox_stage(void);

/* ruleset.c: the Landlock rules. -EOPNOTSUPP: the kernel has no Landlock. */
int sandbox_ruleset_make(const SandboxSpec *spec, int *ret_fd);

/* syscalls.c: makes a seccomp program of an allow-list. Where a call may name only the process itself, the
 * program compares with FILTER_PID_LATER, which is no process's number. The child replaces it by its own
 * number before it loads the program. */
#define FILTER_PID_LATER 0x7ffffffeu
/* The child likewise replaces FILTER_WORDS_LATER by the upper half of SandboxEntry.words_at, the address of
 * the shared futex words. The program compares it with the upper half of a call's address, in the bits of
 * FILTER_WORDS_MASK. */
#define FILTER_WORDS_MASK  ((uint32_t) (~(SANDBOX_WORDS_BYTES - 1) >> 32))
#define FILTER_WORDS_LATER 0x7fffed00u
int sandbox_filter_compile(SandboxKind kind, bool libraries, bool interpreter, struct sock_fprog *ret);
