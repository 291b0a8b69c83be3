/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sends and receives descriptors by SCM_RIGHTS. If a receiver gets more than it asked for, it closes them
 * all. */
#include "lib/message.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include "lib/cleanup.h"

int message_send(int fd, const void *data, size_t n, const int fds[], size_t n_fds) {
        _Alignas(struct cmsghdr) char control[CMSG_SPACE(MESSAGE_FDS_MAX * sizeof(int))] = {};
        struct iovec iov = { (void *) data, n };
        struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

        assert(n_fds <= MESSAGE_FDS_MAX);

        if (n_fds > 0) {
                struct cmsghdr *c;

                msg.msg_control = control;
                msg.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
                c = CMSG_FIRSTHDR(&msg);
                c->cmsg_level = SOL_SOCKET;
                c->cmsg_type = SCM_RIGHTS;
                c->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
                memcpy(CMSG_DATA(c), fds, n_fds * sizeof(int));
        }
        return sendmsg(fd, &msg, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static int wait_readable(int fd, int timeout_msec) {
        struct pollfd p = { .fd = fd, .events = POLLIN };
        int r;

        do
                r = poll(&p, 1, timeout_msec);
        while (r < 0 && errno == EINTR);
        if (r < 0)
                return -errno;
        return r == 0 ? -ETIMEDOUT : 0;
}

/* Whether this process may open no further descriptor. */
static bool table_is_full(int fd) {
        int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        bool full = copy < 0 && errno == EMFILE;

        (void) close_fd(copy);
        return full;
}

int message_receive(int fd, int timeout_msec, void *ret, size_t size, size_t *ret_n, int ret_fds[],
                size_t fds_max, size_t *ret_n_fds) {
        _Alignas(struct cmsghdr) char control[CMSG_SPACE(MESSAGE_FDS_MAX * sizeof(int))];
        struct iovec iov = { ret, size };
        struct msghdr msg = {
                .msg_iov = &iov,
                .msg_iovlen = 1,
                .msg_control = control,
                .msg_controllen = CMSG_SPACE(fds_max * sizeof(int)),
        };
        bool fits = true;
        size_t n_fds = 0;
        ssize_t n;
        int r;

        assert(fds_max <= MESSAGE_FDS_MAX);

        /* A record wakes one of the processes that wait in recvmsg(), but all processes that wait in
         * poll(). */
        if (timeout_msec >= 0) {
                r = wait_readable(fd, timeout_msec);
                if (r < 0)
                        return r;
        }
        n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC | (timeout_msec >= 0 ? MSG_DONTWAIT : 0));
        if (n < 0)
                return -errno;

        for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
                size_t k = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

                if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
                        continue;
                for (size_t i = 0; i < k; i++) {
                        int got;

                        memcpy(&got, CMSG_DATA(c) + i * sizeof(int), sizeof(got));
                        if (n_fds < fds_max)
                                ret_fds[n_fds++] = got;
                        else {
                                /* CMSG_SPACE() leaves room for one more if their number is odd. */
                                (void) close_fd(got);
                                fits = false;
                        }
                }
        }
        if (n == 0 || !fits || msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
                r = fits && msg.msg_flags & MSG_CTRUNC && table_is_full(fd) ? -EMFILE : -EMSGSIZE;
                while (n_fds > 0)
                        (void) close_fd(ret_fds[--n_fds]);
                return n == 0 ? -EPIPE : r;
        }

        *ret_n = (size_t) n;
        *ret_n_fds = n_fds;
        return 0;
}
