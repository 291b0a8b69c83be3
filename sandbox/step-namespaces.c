/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Closes: other processes, other mounts, the host's name, its System V objects and its cgroup tree. The child is born in namespaces
 * of its own (sandbox_clone_flags()); here it only stops carrying the host's name. The network namespace is the invoker's: empty. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/step.h"

int sandbox_step_namespaces(const Sandbox *sandbox, const SandboxEntry *entry) {
        if (sandbox->level < SANDBOX_LEVEL_USERNS)
                return 0;

        /* Born as somebody else's child would mean that clone3() did not do what was asked. */
        if (getpid() != 1)
                return -ECHILD;
        if (sethostname(entry->name, strlen(entry->name)) < 0)
                return -errno;
        return setdomainname("", 0) < 0 ? -errno : 0;
}
