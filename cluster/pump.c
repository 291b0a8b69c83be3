/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each direction has one buffer, and nothing is read while that buffer holds bytes. So the slower side slows
 * the faster one down, and memory does not grow. */
#include "cluster/pump.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BUFFER_BYTES = 64 << 10, FAREWELL_MSEC = 2000 };

typedef struct Buffer {
        size_t from, to;
        char bytes[BUFFER_BYTES];
} Buffer;

int pump_watch(int tcp_fd) {
        static const struct {
                int level, name, value;
        } options[] = {
                { SOL_SOCKET, SO_KEEPALIVE, 1 },
                { IPPROTO_TCP, TCP_NODELAY, 1 },
                { IPPROTO_TCP, TCP_KEEPIDLE, 5 },
                { IPPROTO_TCP, TCP_KEEPINTVL, 5 },
                { IPPROTO_TCP, TCP_KEEPCNT, 3 },
                { IPPROTO_TCP, TCP_USER_TIMEOUT, PUMP_SILENCE_SECONDS * 1000 },
        };

        for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
                if (setsockopt(tcp_fd, options[i].level, options[i].name, &options[i].value,
                                    sizeof(options[i].value)) < 0)
                        return -errno;
        return 0;
}

static bool is_empty(const Buffer *buffer) {
        return buffer->from == buffer->to;
}

/* Reads from the local stream. 1: bytes were read; 0: the caller must wait; -EPIPE: this side has ended. */
static int fill_from_local(Buffer *buffer, int fd) {
        ssize_t n;

        if (!is_empty(buffer))
                return 0;
        n = read(fd, buffer->bytes, sizeof(buffer->bytes));
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return 0;
        if (n <= 0)
                return -EPIPE;
        buffer->from = 0;
        buffer->to = (size_t) n;
        return 1;
}

static int drain_to_local(Buffer *buffer, int fd) {
        ssize_t n;

        if (is_empty(buffer))
                return 0;
        n = send(fd, buffer->bytes + buffer->from, buffer->to - buffer->from, MSG_NOSIGNAL);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return 0;
        if (n < 0)
                return -EPIPE;
        buffer->from += (size_t) n;
        return 1;
}

/* Reads from the peer; returns as fill_from_local() does. -EPIPE: the peer's side has ended, and *ret says
 * how. */
static int fill_from_peer(Buffer *buffer, const Tls *tls, PumpEnd *ret) {
        ssize_t n;

        if (!is_empty(buffer))
                return 0;
        n = gnutls_record_recv(tls->session, buffer->bytes, sizeof(buffer->bytes));
        if (n > 0) {
                buffer->from = 0;
                buffer->to = (size_t) n;
                return 1;
        }
        if (n < 0 && !gnutls_error_is_fatal((int) n))
                return 0;
        *ret = n == 0 ? PUMP_PEER : PUMP_CUT;
        return -EPIPE;
}

static int drain_to_peer(Buffer *buffer, const Tls *tls) {
        ssize_t n;

        if (is_empty(buffer))
                return 0;
        n = gnutls_record_send(tls->session, buffer->bytes + buffer->from, buffer->to - buffer->from);
        if (n > 0) {
                buffer->from += (size_t) n;
                return 1;
        }
        return n < 0 && gnutls_error_is_fatal((int) n) ? -EPIPE : 0;
}

/* Tells the peer that nothing more will come. Tries this for FAREWELL_MSEC at most. */
static PumpEnd farewell(const Tls *tls, PumpEnd end) {
        for (unsigned i = 0; i < 10 && gnutls_bye(tls->session, GNUTLS_SHUT_WR) == GNUTLS_E_AGAIN; i++)
                (void) poll(&(struct pollfd){ .fd = tls->fd, .events = POLLOUT }, 1, FAREWELL_MSEC / 10);
        return end;
}

/* Tries for a moment to send the remaining bytes. */
static void flush(Buffer *out, const Tls *tls) {
        for (unsigned i = 0; i < 10 && !is_empty(out); i++) {
                int r = drain_to_peer(out, tls);

                if (r < 0)
                        return;
                if (r == 0)
                        (void) poll(&(struct pollfd){ .fd = tls->fd, .events = POLLOUT }, 1,
                                        FAREWELL_MSEC / 10);
        }
}

static void wait_for_any(const Tls *tls, int local_fd, int stop_fd, const Buffer *out, const Buffer *in) {
        struct pollfd p[3] = {
                { .fd = local_fd,
                                .events = (short) ((is_empty(out) ? POLLIN : 0) |
                                                   (is_empty(in) ? 0 : POLLOUT)) },
                { .fd = tls->fd,
                                .events = (short) ((is_empty(in) ? POLLIN : 0) |
                                                   (is_empty(out) ? 0 : POLLOUT)) },
                { .fd = stop_fd, .events = POLLIN },
        };

        /* poll() reports a hangup even if no event is asked for. A side that has nothing to do now is left
         * out, so that its hangup does not end each poll() at once. */
        for (size_t i = 0; i < 2; i++)
                if (p[i].events == 0)
                        p[i].fd = -1;
        (void) poll(p, 3, -1);
}

PumpEnd pump_run(const Tls *tls, int local_fd, int stop_fd) {
        Buffer out = {}, in = {};

        for (;;) {
                PumpEnd end = PUMP_CUT;
                int r, moved;

                r = fill_from_local(&out, local_fd);
                if (r < 0) {
                        flush(&out, tls);
                        return farewell(tls, PUMP_LOCAL);
                }
                moved = r;
                r = drain_to_peer(&out, tls);
                if (r < 0)
                        return PUMP_CUT;
                moved |= r;
                r = fill_from_peer(&in, tls, &end);
                if (r < 0)
                        return end;
                moved |= r;
                r = drain_to_local(&in, local_fd);
                if (r < 0)
                        return farewell(tls, PUMP_LOCAL);
                moved |= r;
                if (stop_fd >= 0 && poll(&(struct pollfd){ .fd = stop_fd, .events = POLLIN }, 1, 0) > 0)
                        return farewell(tls, PUMP_STOPPED);
                if (!moved)
                        wait_for_any(tls, local_fd, stop_fd, &out, &in);
        }
}
