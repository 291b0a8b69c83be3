/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cluster/tls.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "lib/boottime.h"
#include "lib/cleanup.h"

#define PRIORITY "NORMAL:-VERS-ALL:+VERS-TLS1.3:-KX-ALL:+DHE-PSK:+ECDHE-PSK"
#define IDENTITY "node"

static int wait_for(int fd, short events, uint64_t deadline_nsec) {
        struct pollfd p = { .fd = fd, .events = events };
        uint64_t now = clock_boottime();
        int r;

        if (now >= deadline_nsec)
                return -ETIMEDOUT;
        r = poll(&p, 1, (int) ((deadline_nsec - now) / 1000000) + 1);
        if (r < 0 && errno != EINTR)
                return -errno;
        return 0;
}

/* Returns the key, for which GnuTLS asks by the name that the client sends. */
static int find_key(gnutls_session_t session, const char *name, gnutls_datum_t *ret) {
        const Tls *tls = gnutls_session_get_ptr(session);

        if (strcmp(name, IDENTITY) != 0)
                return -1;
        ret->data = gnutls_malloc(KEY_BYTES);
        if (!ret->data)
                return -1;
        memcpy(ret->data, tls->key, KEY_BYTES);
        ret->size = KEY_BYTES;
        return 0;
}

static int set_credentials(Tls *tls, bool server) {
        const gnutls_datum_t key = { .data = tls->key, .size = KEY_BYTES };
        int r;

        if (server) {
                r = gnutls_psk_allocate_server_credentials(&tls->server);
                if (r < 0)
                        return r;
                gnutls_psk_set_server_credentials_function(tls->server, find_key);
                return gnutls_credentials_set(tls->session, GNUTLS_CRD_PSK, tls->server);
        }
        r = gnutls_psk_allocate_client_credentials(&tls->client);
        if (r < 0)
                return r;
        r = gnutls_psk_set_client_credentials(tls->client, IDENTITY, &key, GNUTLS_PSK_KEY_RAW);
        if (r < 0)
                return r;
        return gnutls_credentials_set(tls->session, GNUTLS_CRD_PSK, tls->client);
}

static int handshake(const Tls *tls, uint64_t deadline_nsec) {
        for (;;) {
                int r = gnutls_handshake(tls->session);

                if (r == GNUTLS_E_SUCCESS)
                        return gnutls_protocol_get_version(tls->session) == GNUTLS_TLS1_3 ? 0 : -EPROTO;
                if (gnutls_error_is_fatal(r))
                        return -EPROTO;
                r = wait_for(tls->fd, gnutls_record_get_direction(tls->session) ? POLLOUT : POLLIN,
                                deadline_nsec);
                if (r < 0)
                        return r;
        }
}

int tls_start(Tls *ret, bool server, int fd, const uint8_t key[KEY_BYTES], uint64_t deadline_nsec) {
        int r;

        *ret = (Tls){ .fd = fd };
        memcpy(ret->key, key, KEY_BYTES);
        r = gnutls_init(&ret->session, (server ? GNUTLS_SERVER : GNUTLS_CLIENT) | GNUTLS_NONBLOCK |
                                                       GNUTLS_NO_SIGNAL | GNUTLS_NO_TICKETS);
        if (r < 0)
                return -ENOMEM;
        gnutls_session_set_ptr(ret->session, ret);
        r = gnutls_priority_set_direct(ret->session, PRIORITY, NULL);
        if (r < 0)
                return -ENOTSUP;
        r = set_credentials(ret, server);
        if (r < 0)
                return -ENOMEM;
        gnutls_transport_set_int(ret->session, fd);
        r = handshake(ret, deadline_nsec);
        explicit_bzero(ret->key, sizeof(ret->key));
        return r;
}

void tls_done(Tls *tls) {
        if (tls->session)
                gnutls_deinit(tls->session);
        if (tls->client)
                gnutls_psk_free_client_credentials(tls->client);
        if (tls->server)
                gnutls_psk_free_server_credentials(tls->server);
        explicit_bzero(tls, sizeof(*tls));
        tls->fd = -EBADF;
}

int tls_send_full(const Tls *tls, const void *data, size_t n, uint64_t deadline_nsec) {
        size_t done = 0;

        while (done < n) {
                ssize_t r = gnutls_record_send(tls->session, (const char *) data + done, n - done);
                int e;

                if (r > 0) {
                        done += (size_t) r;
                        continue;
                }
                if (gnutls_error_is_fatal((int) r))
                        return -EPIPE;
                e = wait_for(tls->fd, POLLOUT, deadline_nsec);
                if (e < 0)
                        return e;
        }
        return 0;
}

int tls_receive_full(const Tls *tls, void *ret, size_t n, uint64_t deadline_nsec) {
        size_t done = 0;

        while (done < n) {
                ssize_t r = gnutls_record_recv(tls->session, (char *) ret + done, n - done);
                int e;

                if (r > 0) {
                        done += (size_t) r;
                        continue;
                }
                if (r == 0)
                        return -EPIPE;
                if (gnutls_error_is_fatal((int) r))
                        return r == GNUTLS_E_PREMATURE_TERMINATION ? -EPIPE : -EPROTO;
                e = wait_for(tls->fd, POLLIN, deadline_nsec);
                if (e < 0)
                        return e;
        }
        return 0;
}

int socket_send_full(int fd, const void *data, size_t n, uint64_t deadline_nsec) {
        for (size_t done = 0; done < n;) {
                ssize_t r = send(fd, (const char *) data + done, n - done, MSG_NOSIGNAL);
                int e;

                if (r >= 0) {
                        done += (size_t) r;
                        continue;
                }
                if (errno != EAGAIN && errno != EINTR)
                        return -errno;
                e = wait_for(fd, POLLOUT, deadline_nsec);
                if (e < 0)
                        return e;
        }
        return 0;
}

int socket_receive_full(int fd, void *ret, size_t n, uint64_t deadline_nsec) {
        for (size_t done = 0; done < n;) {
                ssize_t r = recv(fd, (char *) ret + done, n - done, 0);
                int e;

                if (r > 0) {
                        done += (size_t) r;
                        continue;
                }
                if (r == 0)
                        return -EPIPE;
                if (errno != EAGAIN && errno != EINTR)
                        return -errno;
                e = wait_for(fd, POLLIN, deadline_nsec);
                if (e < 0)
                        return e;
        }
        return 0;
}
