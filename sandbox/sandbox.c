/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The part of a sandbox that is made once for all its children: the root, the Landlock rules, the filter.
 * Each child then makes only a few system calls and no decisions. */
#include "sandbox/sandbox.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "sandbox/step.h"

DEFINE_CLEANUP(Sandbox *, sandbox_free)

static bool cpuset_is_set(const setting_cpuset *cpus) {
        for (size_t i = 0; i < ELEMENTSOF(cpus->words); i++)
                if (cpus->words[i])
                        return true;
        return false;
}

/* In run mode stderr may be a user's file. An actor then gets no RLIMIT_FSIZE, since this limit would apply
 * to the file, too. */
static bool stderr_is_file(void) {
        struct stat st;

        return fstat(STDERR_FILENO, &st) == 0 && S_ISREG(st.st_mode);
}

static int sandbox_close_files(const SandboxSpec *spec, Sandbox *sandbox, uint32_t *missing) {
        int r;

        if (spec->level >= SANDBOX_LEVEL_USERNS) {
                r = sandbox_root_build(spec, sandbox);
                if (r < 0)
                        return r;
        }

        r = sandbox_ruleset_make(spec, &sandbox->ruleset_fd);
        if (r == -EOPNOTSUPP)
                *missing |= 1u << LIMIT_LANDLOCK;
        else if (r < 0)
                return r;
        return 0;
}

static int sandbox_close_calls(const SandboxSpec *spec, Sandbox *sandbox, uint32_t *missing) {
#ifdef ACTORD_SANITIZE
        /* Sanitizers read /proc, map executable memory and use threads. The lists of system calls forbid all
         * of this. */
        *missing |= 1u << LIMIT_SECCOMP;
        return 0;
#else
        return sandbox_filter_compile(spec->kind, spec->libraries, spec->interpreter, &sandbox->filter);
#endif
}

int sandbox_new(const SandboxSpec *spec, Sandbox **ret, uint32_t *ret_missing) {
        _cleanup_(sandbox_freep) Sandbox *sandbox = NULL;
        uint32_t missing = 0;
        int r;

        sandbox = calloc(1, sizeof(*sandbox));
        if (!sandbox)
                return -ENOMEM;

        sandbox->kind = spec->kind;
        sandbox->level = spec->level;
        sandbox->n_uids = spec->n_uids;
        sandbox->libraries = spec->libraries;
        sandbox->memory_limited = spec->memory_limited;
        sandbox->stderr_is_file = stderr_is_file();
        sandbox->ruleset_fd = -EBADF;
        sandbox->executable_fd = spec->executable_fd;
        sandbox->parent = getpid();
        sandbox->n_threads = spec->settings->n_threads;
        sandbox->n_actors = settings_actors_max(spec->settings);
        sandbox->memory_max_bytes = spec->memory_max_bytes;
        sandbox->allowed_cpus = spec->settings->allowed_cpus;
        sandbox->has_cpus = spec->kind == SANDBOX_ACTOR && cpuset_is_set(&sandbox->allowed_cpus);

        if (spec->level == SANDBOX_LEVEL_NONE)
                missing = 1u << LIMIT_NAMESPACES | 1u << LIMIT_IDENTITY | 1u << LIMIT_LANDLOCK |
                          1u << LIMIT_SECCOMP;
        else {
                if (spec->level == SANDBOX_LEVEL_PROCESS)
                        missing |= 1u << LIMIT_NAMESPACES;
                if (spec->level < SANDBOX_LEVEL_FULL || spec->n_uids <= 1)
                        missing |= 1u << LIMIT_IDENTITY;

                r = sandbox_close_files(spec, sandbox, &missing);
                if (r < 0)
                        return r;
                r = sandbox_close_calls(spec, sandbox, &missing);
                if (r < 0)
                        return r;
        }

        *ret = TAKE_PTR(sandbox);
        *ret_missing = missing;
        return 0;
}

Sandbox *sandbox_free(Sandbox *sandbox) {
        if (!sandbox)
                return NULL;

        free(sandbox->filter.filter);
        (void) close_fd(sandbox->ruleset_fd);
        free(sandbox);
        return NULL;
}

/* There is no CLONE_NEWNET: the invoker is in an empty network namespace already, and making one costs more
 * than all other namespaces together. */
uint64_t sandbox_clone_flags(const Sandbox *sandbox) {
        if (sandbox->level < SANDBOX_LEVEL_USERNS)
                return 0;
        return CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
}
