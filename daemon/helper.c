/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/helper.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include "lib/cleanup.h"

int helper_start(int socket_type, int *ret_channel, int *ret_pid_fd) {
        _cleanup_close_ int ours = -EBADF, theirs = -EBADF;
        int pair[2], pid_fd, r;
        pid_t pid;

        assert(ret_channel);

        if (socketpair(AF_UNIX, socket_type | SOCK_CLOEXEC, 0, pair) < 0)
                return -errno;
        ours = pair[0];
        theirs = pair[1];
        pid = fork();
        if (pid < 0)
                return -errno;
        if (pid == 0) {
                *ret_channel = TAKE_FD(theirs);
                return 1;
        }
        if (ret_pid_fd) {
                pid_fd = pidfd_open(pid, 0);
                if (pid_fd < 0) {
                        r = -errno;
                        (void) kill(pid, SIGKILL);
                        return r;
                }
                *ret_pid_fd = pid_fd;
        }
        *ret_channel = TAKE_FD(ours);
        return 0;
}

void helper_end(int channel, int pid_fd) {
        if (pid_fd >= 0)
                (void) pidfd_send_signal(pid_fd, SIGKILL, NULL, 0);
        (void) close_fd(pid_fd);
        (void) close_fd(channel);
}
