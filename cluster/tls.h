/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One TLS 1.3 session between two ends that know the same key. It also uses ephemeral Diffie-Hellman, so a
 * key that is found out later cannot decrypt recorded sessions. */
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
        int fd; /* non-blocking; it belongs to the caller */
} Tls;

#define TLS_NONE             \
        (Tls) {              \
                .fd = -EBADF \
        }

/* Makes the handshake. -ETIMEDOUT; -EPROTO: the peer does not have the key, or does not speak TLS 1.3;
 * -errno. */
int tls_start(Tls *ret, bool server, int fd, const uint8_t key[KEY_BYTES], uint64_t deadline_nsec);
void tls_done(Tls *tls);
/* Send or receive whole blocks before a deadline. -ETIMEDOUT; -EPIPE: the peer has closed; another negative
 * errno: the session is broken. */
int tls_send_full(const Tls *tls, const void *data, size_t n, uint64_t deadline_nsec);
int tls_receive_full(const Tls *tls, void *ret, size_t n, uint64_t deadline_nsec);
/* Send or receive whole blocks on a plain socket, without TLS. */
int socket_send_full(int fd, const void *data, size_t n, uint64_t deadline_nsec);
int socket_receive_full(int fd, void *ret, size_t n, uint64_t deadline_nsec);
