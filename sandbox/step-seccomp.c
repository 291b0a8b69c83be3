/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Closes: every system call that is not on the list (syscalls.c). Last, since it forbids what the other steps call. */
#include <errno.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/step.h"

/* In the child's own copy of the program. */
static void fill_in_pid(const struct sock_fprog *filter) {
        for (unsigned i = 0; i < filter->len; i++)
                if (filter->filter[i].k == FILTER_PID_LATER)
                        filter->filter[i].k = (uint32_t) getpid();
}

int sandbox_step_seccomp(const Sandbox *sandbox, const SandboxEntry *entry) {
        if (sandbox->filter.len == 0)
                return 0;

        fill_in_pid(&sandbox->filter);
        return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &sandbox->filter) < 0 ? -errno : 0;
}
