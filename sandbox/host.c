/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The process that makes the sandboxes gives up new privileges and the calls below, for itself and its
 * children, before it begins to work for its job. In system mode the unit of actord-spawn already forbids
 * many of them; in run mode and user mode no unit does. The list names forbidden calls instead of allowed
 * ones, since this program needs most calls for its work: namespaces, mounts, cgroups and processes. */
#include <errno.h>
#include <sys/prctl.h>

#include "lib/cleanup.h"
#include "sandbox/filter.h"
#include "sandbox/sandbox.h"

static const struct {
        const char *name, *reason;
} denied[] = {
        { "acct", "switches the host's process accounting" },
        { "add_key", "keys belong to the login sessions of users" },
        { "adjtimex", "the clock is the host's" },
        { "bpf", "programs in the kernel" },
        { "clock_adjtime", "the clock is the host's" },
        { "clock_settime", "the clock is the host's" },
        { "create_module", "obsolete" },
        { "delete_module", "kernel modules" },
        { "finit_module", "kernel modules" },
        { "get_kernel_syms", "obsolete" },
        { "init_module", "kernel modules" },
        { "io_uring_enter", "makes most calls in another way, which no filter sees" },
        { "io_uring_register", "as io_uring_enter" },
        { "io_uring_setup", "as io_uring_enter" },
        { "ioperm", "ports of devices" },
        { "iopl", "ports of devices" },
        { "kexec_file_load", "another kernel" },
        { "kexec_load", "another kernel" },
        { "keyctl", "keys belong to the login sessions of users" },
        { "lookup_dcookie", "the kernel's profiler" },
        { "modify_ldt", "old emulators' segments" },
        { "nfsservctl", "obsolete" },
        { "open_by_handle_at", "opens files past every directory's permission" },
        { "perf_event_open", "watches other processes" },
        { "query_module", "obsolete" },
        { "quotactl", "disk quotas are the administrator's" },
        { "reboot", "no job may restart the host" },
        { "request_key", "keys belong to the login sessions of users" },
        { "settimeofday", "the clock is the host's" },
        { "swapoff", "swap is the administrator's" },
        { "swapon", "swap is the administrator's" },
        { "sysfs", "obsolete" },
        { "syslog", "the kernel's messages" },
        { "uselib", "obsolete" },
        { "userfaultfd", "can stop the kernel in the middle of a copy" },
        { "ustat", "obsolete" },
        { "vhangup", "takes a terminal from its user" },
};

int sandbox_confine_parent(void) {
        _cleanup_filter_ scmp_filter_ctx filter = NULL;
        int r;

        /* libseccomp would set this as well, but not on a kernel without seccomp. */
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return -errno;

        r = filter_new(SCMP_ACT_ALLOW, &filter);
        if (r < 0)
                return r;
        for (size_t i = 0; i < ELEMENTSOF(denied); i++) {
                int number = seccomp_syscall_resolve_name(denied[i].name);

                if (number < 0)
                        continue; /* this machine does not have this call */
                r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), number, 0);
                if (r < 0)
                        return r;
        }
        return seccomp_load(filter);
}
