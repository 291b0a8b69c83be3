/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Closes: every system call that is not on the list (syscalls.c). Last, since it forbids what the other steps call. */
#include <errno.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/step.h"

/* In the child's own copy of the program. Without a stretch for shared words the comparison is made true
 * for all addresses. */
static void fill_in(const struct sock_fprog *filter, uint64_t words_at) {
        for (unsigned i = 0; i < filter->len; i++) {
                uint32_t *k = &filter->filter[i].k;

                if (*k == FILTER_PID_LATER)
                        *k = (uint32_t) getpid();
                else if (*k == FILTER_WORDS_LATER)
                        *k = (uint32_t) (words_at >> 32);
                else if (*k == FILTER_WORDS_MASK && words_at == 0)
                        *k = 0;
        }
}

int sandbox_step_seccomp(const Sandbox *sandbox, const SandboxEntry *entry) {
        if (sandbox->filter.len == 0)
                return 0;

        fill_in(&sandbox->filter, entry->words_at);
        return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &sandbox->filter) < 0 ? -errno : 0;
}
