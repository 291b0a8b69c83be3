/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Closes: CPUs outside AllowedCPUs=. A cpuset says the same where there is a controller; this also holds where there is none, as the
 * filter forbids to change it. */
#include <errno.h>
#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/step.h"

int sandbox_step_affinity(const Sandbox *sandbox, const SandboxEntry *entry) {
        if (!sandbox->has_cpus || sandbox->level == SANDBOX_LEVEL_NONE)
                return 0;

        return syscall(SYS_sched_setaffinity, 0, sizeof(sandbox->allowed_cpus.words),
                               sandbox->allowed_cpus.words) < 0
                               ? -errno
                               : 0;
}
