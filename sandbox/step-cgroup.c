/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Closes: use that nobody meters or limits. Children are born in their leaf (CLONE_INTO_CGROUP); where clone3() does not exist
 * they walk there before they do anything else. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "sandbox/step.h"

int sandbox_step_cgroup(const Sandbox *sandbox, const SandboxEntry *entry) {
        _cleanup_close_ int fd = -EBADF;

        if (entry->cgroup_fd < 0)
                return 0;

        fd = openat(entry->cgroup_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        return write(fd, "0", 1) < 0 ? -errno : 0;
}
