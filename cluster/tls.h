/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One TLS 1.3 session whose two ends know the same key. Ephemeral Diffie-Hellman besides, so that a key that
 * is found out later opens nothing that was recorded. */
#pragma once

#include <gnutls/gnutls.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "cluster/hello.h"

typedef struct Tls {
        gnutls_session_t session;
        gnutls_psk_client_credentials_t client;
        gnutls_psk_server_credentials_t server;
        uint8_t key[KEY_BYTES];
        int fd; /* non-blocking; the caller's */
} Tls;

#define TLS_NONE             \
        (Tls) {              \
                .fd = -EBADF \
        }

/* Shakes hands. -ETIMEDOUT; -EPROTO: the peer does not have the key, or is not ours; -errno. */
int tls_start(Tls *ret, bool server, int fd, const uint8_t key[KEY_BYTES], uint64_t deadline_nsec);
void tls_done(Tls *tls);
/* Whole blocks, until a deadline. -EPIPE: the peer has closed. */
int tls_send_full(const Tls *tls, const void *data, size_t n, uint64_t deadline_nsec);
int tls_receive_full(const Tls *tls, void *ret, size_t n, uint64_t deadline_nsec);
/* The same on the bare socket. */
int socket_send_full(int fd, const void *data, size_t n, uint64_t deadline_nsec);
int socket_receive_full(int fd, void *ret, size_t n, uint64_t deadline_nsec);
