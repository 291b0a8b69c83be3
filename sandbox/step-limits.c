/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Closes: what one process can take without a cgroup noticing: descriptors, core files, files, locked memory; and, where no memory
 * controller is to be had, memory itself. */
#include <errno.h>
#include <sys/resource.h>

#include "lib/cleanup.h"
#include "sandbox/step.h"

/* An actor holds stderr and its bell; a plugin opens libraries and models; the learner maps a segment for each actor. */
enum { FILES_ACTOR = 16, FILES_LIBRARIES = 64, FILES_LEARNER = 64, TASKS_LEARNER = 8 };

#define SPARE_BYTES (256ull << 20) /* of addresses: program, libraries, stacks */

static int limit(int resource, uint64_t value) {
        struct rlimit old, new = { .rlim_cur = value, .rlim_max = value };

        if (getrlimit(resource, &old) < 0)
                return -errno;
        if (old.rlim_max < value)
                new.rlim_cur = new.rlim_max = old.rlim_max;
        return setrlimit(resource, &new) < 0 ? -errno : 0;
}

static int limit_memory(const Sandbox *sandbox, const SandboxEntry *entry) {
        /* Each thread of the learner's brings a stack and an allocator's arena, reserved and hardly used. */
        uint64_t spare_bytes =
                        SPARE_BYTES * (1 + (sandbox->kind == SANDBOX_LEARNER ? sandbox->n_threads : 0));
        int r;

#ifdef ACTORD_SANITIZE
        return 0; /* a sanitizer's shadow is terabytes of addresses */
#endif
        if (sandbox->memory_limited)
                return 0;

        r = limit(RLIMIT_DATA, sandbox->memory_max_bytes);
        if (r < 0)
                return r;
        return limit(RLIMIT_AS, sandbox->memory_max_bytes + entry->mapped_bytes + spare_bytes);
}

static int limit_tasks(const Sandbox *sandbox) {
        if (sandbox->kind == SANDBOX_ACTOR)
                return limit(RLIMIT_NPROC, 1);
        /* The kernel counts per user: with a shared one it would count everything of the user's. */
        if (sandbox->n_uids > 1)
                return limit(RLIMIT_NPROC, sandbox->n_threads + TASKS_LEARNER);
        return 0;
}

int sandbox_step_limits(const Sandbox *sandbox, const SandboxEntry *entry) {
        bool actor = sandbox->kind == SANDBOX_ACTOR;
        uint64_t n_files = !actor               ? FILES_LEARNER + sandbox->n_actors
                           : sandbox->libraries ? FILES_LIBRARIES
                                                : FILES_ACTOR;
        int r;

        if (sandbox->level == SANDBOX_LEVEL_NONE)
                return 0;

        if ((r = limit(RLIMIT_CORE, 0)) < 0 || (r = limit(RLIMIT_NOFILE, n_files)) < 0 ||
                        (r = limit(RLIMIT_MEMLOCK, 0)) < 0 || (r = limit(RLIMIT_MSGQUEUE, 0)) < 0 ||
                        (r = limit_tasks(sandbox)) < 0)
                return r;
        if (actor && !sandbox->stderr_is_file && (r = limit(RLIMIT_FSIZE, 0)) < 0)
                return r;
        return limit_memory(sandbox, entry);
}
