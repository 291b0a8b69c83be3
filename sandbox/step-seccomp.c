/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Closes: every system call that is not on the list (syscalls.c). Last, since it forbids what the other steps call. */
#include <errno.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/step.h"

int sandbox_step_seccomp(const Sandbox *sandbox, const SandboxEntry *entry) {
        if (sandbox->filter.len == 0)
                return 0;

        return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &sandbox->filter) < 0 ? -errno : 0;
}
