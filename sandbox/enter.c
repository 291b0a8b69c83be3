/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The steps of a child between its start and its first order. Each step is a function, and its comment says
 * what it denies the child. They run in the order of the table at the end. The order matters:
 * step_namespaces(), step_root() and step_identity() need capabilities, which step_capabilities() takes
 * away. Landlock needs no_new_privs, which step_capabilities() sets. The filter comes last, since it forbids
 * system calls of the other steps. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "sandbox/step.h"

/* Denies the child CPU time and memory that no cgroup meters or limits. Each child starts in a cgroup of its
 * own (CLONE_INTO_CGROUP). If clone3() does not exist, the child moves into that cgroup before any other
 * step. */
static int step_cgroup(const Sandbox *sandbox, const SandboxEntry *entry) {
        _cleanup_close_ int fd = -EBADF;

        if (entry->cgroup_fd < 0)
                return 0;

        fd = openat(entry->cgroup_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        return write(fd, "0", 1) < 0 ? -errno : 0;
}

static int close_between(unsigned first, unsigned last) {
        if (first > last)
                return 0;
        return close_range(first, last, 0) < 0 ? -errno : 0;
}

/* The highest number that step_descriptors() leaves open, if only for a moment. */
static int last_kept(const Sandbox *sandbox, const SandboxEntry *entry) {
        int last = STDERR_FILENO;

        if (entry->n_keep_fds > 0 && entry->keep_fds[entry->n_keep_fds - 1] > last)
                last = entry->keep_fds[entry->n_keep_fds - 1];
        if (sandbox->ruleset_fd > last)
                last = sandbox->ruleset_fd;
        return entry->apart_fd > last ? entry->apart_fd : last;
}

/* Gives the child a descriptor table of its own, if it still shares the invoker's. The kernel copies only
 * the numbers that are not closed at once, so this takes the same time however many descriptors the invoker
 * has. Afterwards the invoker may go on: no call of the child reaches the invoker's table any more. */
static int part(const Sandbox *sandbox, const SandboxEntry *entry) {
        const uint64_t one = 1;

        if (close_range((unsigned) last_kept(sandbox, entry) + 1, UINT_MAX, CLOSE_RANGE_UNSHARE) < 0)
                return -errno;
        if (entry->apart_fd >= 0 && write(entry->apart_fd, &one, sizeof(one)) < 0)
                return -errno;
        return 0;
}

/* Denies the child every descriptor of the invoker. With a cgroup's descriptor the child could lift its
 * limits. With a segment's descriptor it could reach another actor's memory (mremap() can map more of a file
 * than was mapped). With the socket's descriptor it could reach the daemon. */
static int step_descriptors(const Sandbox *sandbox, const SandboxEntry *entry) {
        int own = sandbox->ruleset_fd; /* step_landlock() needs this descriptor, and closes it */
        unsigned next = STDERR_FILENO + 1;
        size_t i = 0;
        int r;

        r = part(sandbox, entry);
        if (r < 0)
                return r;
        while (i < entry->n_keep_fds || own >= 0) {
                int kept;

                if (own >= 0 && (i == entry->n_keep_fds || own < entry->keep_fds[i])) {
                        kept = own;
                        own = -EBADF;
                } else
                        kept = entry->keep_fds[i++];

                if (kept < (int) next)
                        return -EINVAL;
                r = close_between(next, (unsigned) kept - 1);
                if (r < 0)
                        return r;
                next = (unsigned) kept + 1;
        }
        return close_between(next, UINT_MAX);
}

/* Denies the child other processes, other mounts, the host's name, its System V objects and its cgroup tree.
 * The child starts in its own namespaces (sandbox_clone_flags()); here it only gives up the host's name. The
 * network namespace is the invoker's, and empty. */
static int step_namespaces(const Sandbox *sandbox, const SandboxEntry *entry) {
        if (sandbox->level < SANDBOX_LEVEL_USERNS)
                return 0;

        /* another number would mean that clone3() made no PID namespace */
        if (getpid() != 1)
                return -ECHILD;
        if (sethostname(entry->name, strlen(entry->name)) < 0)
                return -errno;
        return setdomainname("", 0) < 0 ? -errno : 0;
}

/* Denies the child every file of the host. The built root becomes the child's root, and everything above it
 * is unmounted. There is no path to the old root any more and, without /proc, no way to reopen a read-only
 * descriptor for writing. */
static int step_root(const Sandbox *sandbox, const SandboxEntry *entry) {
        if (sandbox->root[0] == 0)
                return 0;

        if (chdir(sandbox_stage()) < 0 || chdir(sandbox->root) < 0)
                return -errno;
        /* This stacks the old root on the new one, so no directory is needed for it, and umount2() removes
         * it. */
        if (syscall(SYS_pivot_root, ".", ".") < 0)
                return -errno;
        if (umount2(".", MNT_DETACH) < 0)
                return -errno;
        return chdir("/") < 0 ? -errno : 0;
}

/* FILES: limits of descriptors. An actor has stderr and the eventfd that wakes the invoker; a plugin opens
 * libraries and models; the learner maps a segment for each actor. TASKS_LEARNER: how many tasks it may have
 * beside its threads. */
enum { FILES_ACTOR = 16, FILES_LIBRARIES = 64, FILES_LEARNER = 64, TASKS_LEARNER = 8 };

#define SPARE_BYTES (256ull << 20) /* address space for the program, its libraries and its stacks */

static int limit(int resource, uint64_t value) {
        struct rlimit old, new = { .rlim_cur = value, .rlim_max = value };

        if (getrlimit(resource, &old) < 0)
                return -errno;
        if (old.rlim_max < value)
                new.rlim_cur = new.rlim_max = old.rlim_max;
        return setrlimit(resource, &new) < 0 ? -errno : 0;
}

static int limit_memory(const Sandbox *sandbox, const SandboxEntry *entry) {
        /* Each thread of the learner reserves a stack and an allocator's arena, and uses little of them. */
        uint64_t spare_bytes =
                        SPARE_BYTES * (1 + (sandbox->kind == SANDBOX_LEARNER ? sandbox->n_threads : 0));
        int r;

#ifdef ACTORD_SANITIZE
        return 0; /* a sanitizer's shadow is terabytes of addresses */
#endif
        if (sandbox->memory_limited)
                return 0;

        r = limit(RLIMIT_DATA, sandbox->memory_max_bytes);
        if (r < 0)
                return r;
        return limit(RLIMIT_AS, sandbox->memory_max_bytes + entry->mapped_bytes + spare_bytes);
}

static int limit_tasks(const Sandbox *sandbox) {
        if (sandbox->kind == SANDBOX_ACTOR)
                return limit(RLIMIT_NPROC, 1);
        /* The kernel counts the tasks of a user id. With a shared id it would count all processes of this
         * user. */
        if (sandbox->n_uids > 1)
                return limit(RLIMIT_NPROC, sandbox->n_threads + TASKS_LEARNER);
        return 0;
}

static uint64_t files_max(const Sandbox *sandbox) {
        if (sandbox->kind == SANDBOX_LEARNER)
                return FILES_LEARNER + sandbox->n_actors;
        return sandbox->libraries ? FILES_LIBRARIES : FILES_ACTOR;
}

/* Denies the child resources that a process can take without a cgroup noticing: descriptors, core files,
 * files, locked memory, message queues. It also limits tasks and, if no memory controller is available,
 * memory itself. */
static int step_limits(const Sandbox *sandbox, const SandboxEntry *entry) {
        const struct {
                int resource;
                uint64_t value;
        } limits[] = {
                { RLIMIT_CORE, 0 },
                { RLIMIT_NOFILE, files_max(sandbox) },
                { RLIMIT_MEMLOCK, 0 },
                { RLIMIT_MSGQUEUE, 0 },
        };
        int r;

        if (sandbox->level == SANDBOX_LEVEL_NONE)
                return 0;

        for (size_t i = 0; i < ELEMENTSOF(limits); i++) {
                r = limit(limits[i].resource, limits[i].value);
                if (r < 0)
                        return r;
        }
        if (sandbox->kind == SANDBOX_ACTOR && !sandbox->stderr_is_file) {
                r = limit(RLIMIT_FSIZE, 0);
                if (r < 0)
                        return r;
        }
        r = limit_tasks(sandbox);
        if (r < 0)
                return r;
        return limit_memory(sandbox, entry);
}

/* Denies the child files and processes of any user. The child gets a user id of its own, and only its own
 * group. It keeps its capabilities in this step: the next step drops them, and needs a capability to shrink
 * the bounding set first. */
static int step_identity(const Sandbox *sandbox, const SandboxEntry *entry) {
        if (sandbox->level != SANDBOX_LEVEL_FULL || sandbox->n_uids <= 1)
                return 0;

        if (prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0) < 0)
                return -errno;
        /* Uses the system calls directly: glibc would also signal other threads, and there are none. */
        if (syscall(SYS_setgroups, 0, NULL) < 0)
                return -errno;
        if (syscall(SYS_setresgid, entry->uid, entry->uid, entry->uid) < 0)
                return -errno;
        return syscall(SYS_setresuid, entry->uid, entry->uid, entry->uid) < 0 ? -errno : 0;
}

#define SECUREBITS                                                                                       \
        (SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED | \
                        SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |                          \
                        SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

/* Empties the bounding set. EPERM (no right to shrink the set) is no failure: the process has no_new_privs,
 * so it cannot gain a capability from the set either. */
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
        /* The parent may have died before the prctl(). A child with a PID namespace of its own cannot see
         * its parent, but its namespace ends with the parent's. */
        if (sandbox->level < SANDBOX_LEVEL_USERNS && getppid() != sandbox->parent)
                return -ESRCH;
        return 0;
}

/* Denies the child every privilege, and every way to gain one. These ways are the bounding set, the ambient
 * set, root's special treatment at exec, and set-user-ID programs. The child also asks the kernel to end it
 * with the invoker, for levels without a PID namespace. It asks here, since a change of user id cancels that
 * request. */
static int step_capabilities(const Sandbox *sandbox, const SandboxEntry *entry) {
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

/* Denies the child files once more, by another part of the kernel (Landlock). In newer kernels it also
 * denies TCP, then signals and abstract sockets. At level process, only this step and the filter keep the
 * child from the host's files. */
static int step_landlock(const Sandbox *sandbox, const SandboxEntry *entry) {
        if (sandbox->ruleset_fd < 0)
                return 0;

        if (syscall(SYS_landlock_restrict_self, sandbox->ruleset_fd, 0) < 0)
                return -errno;
        return close(sandbox->ruleset_fd) < 0 ? -errno : 0;
}

/* Denies the child CPUs outside AllowedCPUs=. On a host with the cpuset controller a cpuset does the same.
 * This step also works without the controller, since the filter forbids every later change of the
 * affinity. */
static int step_affinity(const Sandbox *sandbox, const SandboxEntry *entry) {
        if (!sandbox->has_cpus || sandbox->level == SANDBOX_LEVEL_NONE)
                return 0;

        if (syscall(SYS_sched_setaffinity, 0, sizeof(sandbox->allowed_cpus.words),
                            sandbox->allowed_cpus.words) < 0)
                return -errno;
        return 0;
}

/* Writes values that only the child knows into its own copy of the filter program. If no address range is
 * reserved for shared words, the comparison becomes true for all addresses. */
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

/* Denies the child every system call that is not on the list (syscalls.c). This step is the last one, since
 * it forbids calls that the other steps make. */
static int step_seccomp(const Sandbox *sandbox, const SandboxEntry *entry) {
        if (sandbox->filter.len == 0)
                return 0;

        fill_in(&sandbox->filter, entry->words_at);
        return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &sandbox->filter) < 0 ? -errno : 0;
}

static const struct {
        int (*apply)(const Sandbox *sandbox, const SandboxEntry *entry);
        int status;
        const char *name;
} steps[] = {
#define X(name, status) { step_##name, status, #name },
        SANDBOX_STEPS(X)
#undef X
};

void sandbox_enter(const Sandbox *sandbox, const SandboxEntry *entry) {
        (void) prctl(PR_SET_NAME, entry->name);

        for (size_t i = 0; i < ELEMENTSOF(steps); i++) {
                int r = steps[i].apply(sandbox, entry);

                if (r < 0) {
                        if (entry->verdict)
                                entry->verdict->failed = 1 + (uint32_t) i;
                        dprintf(STDERR_FILENO, "%s: step \"%s\" of its sandbox failed: %s\n", entry->name,
                                        steps[i].name, strerror(-r));
                        _exit(steps[i].status);
                }
        }
        verdict_leave();
}
