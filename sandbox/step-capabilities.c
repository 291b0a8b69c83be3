/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Closes: every privilege, and every way to gain one: bounding set, ambient set, root's special treatment at exec, set-user-ID
 * programs. And the child ends with the invoker, also where no PID namespace sees to that (asked for here, since a change of user
 * forgets it). */
#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <signal.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "sandbox/step.h"

#define SECUREBITS                                                                                       \
        (SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED | \
                        SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |                          \
                        SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

/* A process that never had the right to shrink its bounding set has nothing in it that it could use: no_new_privs. */
static int drop_bounding(void) {
        for (int cap = 0; cap <= CAP_LAST_CAP; cap++)
                if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0 && errno != EINVAL)
                        return errno == EPERM ? 0 : -errno;

        if (prctl(PR_SET_SECUREBITS, SECUREBITS, 0, 0, 0) < 0)
                return errno == EPERM ? 0 : -errno;
        return 0;
}

static int drop_own(void) {
        struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
        struct __user_cap_data_struct none[2] = {};

        return capset(&header, none) < 0 ? -errno : 0;
}

static int end_with_parent(const Sandbox *sandbox) {
        if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
                return -errno;
        /* It may have died before we asked. In a PID namespace of our own it cannot be seen, and the namespace dies with its. */
        if (sandbox->level < SANDBOX_LEVEL_USERNS && getppid() != sandbox->parent)
                return -ESRCH;
        return 0;
}

int sandbox_step_capabilities(const Sandbox *sandbox, const SandboxEntry *entry) {
        int r;

        r = end_with_parent(sandbox);
        if (r < 0 || sandbox->level == SANDBOX_LEVEL_NONE)
                return r;

        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return -errno;
        (void) prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);

        r = drop_bounding();
        return r < 0 ? r : drop_own();
}
