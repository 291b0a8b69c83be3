/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/look.h"

#include <assert.h>
#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include "daemon/wire.h"

/* recvmsg() with MSG_PEEK goes through the pieces that were sent, up to and including the first piece with
 * descriptors, even if the buffer is full (unix_stream_read_generic() in the kernel's net/unix/af_unix.c). A
 * bus sends descriptors with the first piece of their message, and no piece has parts of two messages. So if
 * bytes of a second message were seen, the descriptors do not belong to the first. */
int look_at_message(int fd, uint8_t *bytes, size_t size, size_t *ret_n) {
        struct iovec iov = { bytes, size };
        struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
        ssize_t n;

        assert(bytes && size >= WIRE_START_BYTES);
        assert(ret_n);

        n = recvmsg(fd, &msg, MSG_PEEK | MSG_DONTWAIT);
        if (n < 0)
                return -errno;
        if (n == 0)
                return -EPIPE;
        *ret_n = (size_t) n;
        if (!(msg.msg_flags & MSG_CTRUNC))
                return 0;
        return *ret_n < WIRE_START_BYTES || *ret_n <= wire_head_bytes(bytes) + wire_body_bytes(bytes);
}
