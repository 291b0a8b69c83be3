/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Closes: files and processes of any user. The child becomes a user that is nobody else's, in no group but its own. Capabilities
 * survive this step (the next one takes them, bounding set first, which needs one). */
#include <errno.h>
#include <grp.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/step.h"

int sandbox_step_identity(const Sandbox *sandbox, const SandboxEntry *entry) {
        if (sandbox->level != SANDBOX_LEVEL_FULL || sandbox->n_uids <= 1)
                return 0;

        if (prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0) < 0)
                return -errno;
        /* The raw calls: there are no threads to keep in step, and glibc would signal them. */
        if (syscall(SYS_setgroups, 0, NULL) < 0)
                return -errno;
        if (syscall(SYS_setresgid, entry->uid, entry->uid, entry->uid) < 0)
                return -errno;
        return syscall(SYS_setresuid, entry->uid, entry->uid, entry->uid) < 0 ? -errno : 0;
}
