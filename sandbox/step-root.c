/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Closes: every file. The built root becomes the child's, what lay above it is unmounted: there is no path to it any more, and with
 * no /proc no way to reopen a read-only descriptor for writing either. */
#include <errno.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/step.h"

int sandbox_step_root(const Sandbox *sandbox, const SandboxEntry *entry) {
        if (sandbox->root[0] == 0)
                return 0;

        if (chdir(sandbox_stage()) < 0 || chdir(sandbox->root) < 0)
                return -errno;
        /* Old and new root stacked on one another: the directory needs no place for the old one. */
        if (syscall(SYS_pivot_root, ".", ".") < 0)
                return -errno;
        if (umount2(".", MNT_DETACH) < 0)
                return -errno;
        return chdir("/") < 0 ? -errno : 0;
}
