/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Closes: files once more, by another part of the kernel; TCP; and, in newer kernels, signals and abstract sockets. At level process
 * this and the filter are all there is. */
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/step.h"

int sandbox_step_landlock(const Sandbox *sandbox, const SandboxEntry *entry) {
        if (sandbox->ruleset_fd < 0)
                return 0;

        if (syscall(SYS_landlock_restrict_self, sandbox->ruleset_fd, 0) < 0)
                return -errno;
        return close(sandbox->ruleset_fd) < 0 ? -errno : 0;
}
