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

int sandbox_step_descriptors(const Sandbox *sandbox, const SandboxEntry *entry) {
        int own = sandbox->ruleset_fd; /* a later step needs it, and closes it */
        unsigned next = STDERR_FILENO + 1;
        size_t i = 0;

        while (i < entry->n_keep_fds || own >= 0) {
                int kept, r;

                if (own >= 0 && (i == entry->n_keep_fds || own < entry->keep_fds[i])) {
                        kept = own;
                        own = -EBADF;
                } else
                        kept = entry->keep_fds[i++];

                if (kept < (int) next)
                        return -EINVAL;
                r = close_between(next, (unsigned) kept - 1);
                if (r < 0)
                        return r;
                next = (unsigned) kept + 1;
        }
        return close_between(next, UINT_MAX);
}
