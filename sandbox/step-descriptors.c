/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Closes: everything the invoker holds. A cgroup's descriptor would be a way to lift limits, a segment's one to a neighbour's
 * memory (mremap() reaches beyond what was mapped), the socket's one to the daemon. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include "sandbox/step.h"

static int close_between(unsigned first, unsigned last) {
        if (first > last)
                return 0;
        return close_range(first, last, 0) < 0 ? -errno : 0;
}

/* Whether fd is kept: by the entry, or because a later step needs it (and it closes on exec). */
static bool is_kept(const Sandbox *sandbox, const SandboxEntry *entry, unsigned i, unsigned *ret) {
        int own = sandbox->ruleset_fd;

        /* The list ascends and the sandbox's own lies above it (fd_floor), or there is none. */
        if (i < entry->n_keep_fds) {
                *ret = (unsigned) entry->keep_fds[i];
                return true;
        }
        if (i == entry->n_keep_fds && own >= 0) {
                *ret = (unsigned) own;
                return true;
        }
        return false;
}

int sandbox_step_descriptors(const Sandbox *sandbox, const SandboxEntry *entry) {
        unsigned next = STDERR_FILENO + 1, kept;
        int r;

        for (unsigned i = 0; is_kept(sandbox, entry, i, &kept); i++) {
                if (kept < next)
                        return -EINVAL;
                r = close_between(next, kept - 1);
                if (r < 0)
                        return r;
                next = kept + 1;
        }
        return close_between(next, UINT_MAX);
}
