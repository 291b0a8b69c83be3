/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Starts a child in namespaces of its own, and gives it user ids. At level full the user namespace has a
 * reserved range, so the invoker keeps no capability on the host, and each actor gets an id of its own. At
 * level userns the namespace has one id. */
#include "spawner/spawner.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lib/cleanup.h"
#include "lib/message.h"

bool ids_are_mapped(uint32_t first, uint32_t n) {
        _cleanup_fclose_ FILE *f = fopen("/proc/self/uid_map", "re");
        unsigned long inside, outside, count;

        while (f && fscanf(f, "%lu %lu %lu", &inside, &outside, &count) == 3)
                if (first >= inside && (uint64_t) first + n <= (uint64_t) inside + count)
                        return true;
        return false;
}

/* cgroup_fd: the cgroup in which the child begins; -EBADF: its parent's */
static pid_t clone_child(uint64_t flags, int cgroup_fd, int *ret_pid_fd) {
        struct clone_args args = { .flags = flags | CLONE_PIDFD | (cgroup_fd >= 0 ? CLONE_INTO_CGROUP : 0),
                .exit_signal = SIGCHLD,
                .pidfd = (uint64_t) (uintptr_t) ret_pid_fd,
                .cgroup = cgroup_fd >= 0 ? (uint64_t) cgroup_fd : 0 };
        pid_t pid;

        if (flags != 0)
                return (pid_t) syscall(SYS_clone3, &args, sizeof(args));

        /* Level process is for hosts that forbid clone3(), so this level uses fork(). */
        pid = fork();
        if (pid > 0) {
                *ret_pid_fd = pidfd_open(pid, 0);
                if (*ret_pid_fd < 0) {
                        int saved = errno;

                        (void) kill(pid, SIGKILL);
                        errno = saved;
                        return -1;
                }
        }
        return pid;
}

/* Starts the child in its cgroup if the kernel can: to move a process into another cgroup takes the kernel
 * some ten milliseconds. */
int child_start(uint32_t level, uid_t uid, int cgroup_fd, Child *ret) {
        _cleanup_close_ int ours = -EBADF, theirs = -EBADF;
        static const uint64_t namespaces = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET |
                                           CLONE_NEWIPC | CLONE_NEWUTS;
        bool is_placed = cgroup_fd >= 0 && level >= SANDBOX_LEVEL_USERNS;
        int pair[2], pid_fd = -EBADF;
        pid_t pid = -1;

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return -errno;
        ours = pair[0];
        theirs = pair[1];

        if (is_placed)
                pid = clone_child(namespaces, cgroup_fd, &pid_fd);
        if (pid < 0) {
                is_placed = false;
                pid = clone_child(level >= SANDBOX_LEVEL_USERNS ? namespaces : 0, -EBADF, &pid_fd);
        }
        if (pid < 0)
                return -errno;
        if (pid == 0) {
                *ret = (Child){ .pid_fd = -EBADF, .channel = TAKE_FD(theirs), .level = level, .uid = uid };
                return 0;
        }
        *ret = (Child){ .pid = pid,
                .pid_fd = pid_fd,
                .channel = TAKE_FD(ours),
                .level = level,
                .uid = uid,
                .is_placed = is_placed };
        return 0;
}

/* At level process the child runs as the job's user, and the system's spawner has no CAP_KILL. With
 * CAP_SETUID it can act as that user for a moment. If that fails, too, a child that is not yet the invoker
 * ends when child_done() closes its channel; for the invoker, child_done() waits until the alarm of
 * limit_time() ends this process. */
static void kill_child(const Child *child) {
        uid_t own = geteuid();

        if (pidfd_send_signal(child->pid_fd, SIGKILL, NULL, 0) >= 0 || errno != EPERM)
                return;
        if (seteuid(child->uid) < 0)
                return;
        (void) pidfd_send_signal(child->pid_fd, SIGKILL, NULL, 0);
        if (seteuid(own) < 0)
                _exit(EXIT_FAILURE);
}

void child_done(Child *child, bool kill) {
        if (kill && child->pid_fd >= 0)
                kill_child(child);
        child->channel = close_fd(child->channel);
        if (kill && child->pid > 0)
                (void) waitpid(child->pid, NULL, 0);
        child->pid_fd = close_fd(child->pid_fd);
        child->pid = 0;
}

int child_hear(const Child *child, unsigned timeout_msec, LaunchAnswer *answer) {
        LaunchAnswer heard = {};
        size_t n, n_fds;
        int r;

        r = message_receive(child->channel, (int) timeout_msec, &heard, sizeof(heard), &n, NULL, 0, &n_fds);
        if (r < 0)
                return r;
        if (n != sizeof(heard))
                return -EBADMSG;
        if (heard.error < 0) {
                heard.message[sizeof(heard.message) - 1] = 0;
                return answer_fail(answer, heard.step, heard.error, "%s", heard.message);
        }
        return 0;
}

int child_tell(const Child *child) {
        return message_send(child->channel, "on", 2, NULL, 0);
}

static int write_proc(pid_t pid, const char *name, const char *text) {
        _cleanup_close_ int fd = -EBADF;
        char path[64];

        (void) snprintf(path, sizeof(path), "/proc/%d/%s", (int) pid, name);
        fd = open(path, O_WRONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

int child_map(const Child *child, const Launch *launch) {
        uint32_t n = child->level == SANDBOX_LEVEL_FULL ? launch->n_uids : 1;
        bool range = geteuid() == 0;
        char uids[64], gids[64];
        int r;

        (void) snprintf(uids, sizeof(uids), "0 %u %u\n", launch->uid_first, n);
        (void) snprintf(gids, sizeof(gids), "0 %u %u\n", range ? launch->uid_first : (uint32_t) getegid(),
                        n);

        /* Without privileges a process may map its own group only when it has given up setgroups(). */
        if (!range) {
                r = write_proc(child->pid, "setgroups", "deny");
                if (r < 0)
                        return r;
        }
        r = write_proc(child->pid, "gid_map", gids);
        if (r == -EPERM && range && n == 1) { /* a container's root may lack CAP_SETGID */
                (void) write_proc(child->pid, "setgroups", "deny");
                r = write_proc(child->pid, "gid_map", gids);
        }
        if (r < 0)
                return r;
        return write_proc(child->pid, "uid_map", uids);
}

int child_identify(const Child *child) {
        bool privileged = geteuid() == 0 || child->level >= SANDBOX_LEVEL_USERNS;
        uint32_t id = child->level >= SANDBOX_LEVEL_USERNS ? 0 : child->uid;

        if (!privileged)
                return 0;
        /* EPERM: child_map() has given up setgroups(), and the child keeps the caller's groups. */
        if (setgroups(0, NULL) < 0 && errno != EPERM)
                return -errno;
        if (setresgid(id, id, id) < 0 || setresuid(id, id, id) < 0)
                return -errno;
        if (child->level < SANDBOX_LEVEL_USERNS)
                return 0;
        /* This mount also tests whether the process has capabilities in the new namespace; some hosts
         * prevent that. */
        return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ? -errno : 0;
}

/* Starts the anchors, idle processes that keep scopes open: a scope ends with its last process, but has to
 * wait for actors. An anchor dies with the job's first process, by the PID namespace or by a signal. */
int anchors_start(uint32_t n) {
        for (uint32_t i = 0; i < n; i++) {
                pid_t pid = fork();

                if (pid < 0)
                        return -errno;
                if (pid > 0)
                        continue;
                (void) prctl(PR_SET_PDEATHSIG, (unsigned long) SIGKILL);
                (void) prctl(PR_SET_NAME, "actord-anchor");
                (void) close_range(0, ~0u, 0);
                for (;;)
                        (void) pause();
        }
        return 0;
}
