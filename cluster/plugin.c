/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cluster/plugin.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/crypto.h>
#include <stdlib.h>
#include <string.h>
#include "include/cluster.h"
#include "lib/cleanup.h"
#include "lib/fd.h"

enum { PIECE_BYTES = 64 << 10 };

/* Reads the file piece by piece: the file may shrink meanwhile, and then a mapping would raise SIGBUS. Each
 * piece goes into the hash, or to the peer. */
static int read_pieces(int fd, uint32_t n_bytes, gnutls_hash_hd_t hash, const Tls *tls, uint64_t deadline) {
        _cleanup_free_ uint8_t *piece = malloc(PIECE_BYTES);
        int r = 0;

        if (!piece)
                return -ENOMEM;
        for (uint32_t at = 0, n; at < n_bytes && r >= 0; at += n) {
                n = n_bytes - at < PIECE_BYTES ? n_bytes - at : PIECE_BYTES;
                r = pread_full(fd, piece, n, (off_t) at);
                if (r >= 0 && hash)
                        r = gnutls_hash(hash, piece, n) < 0 ? -EIO : 0;
                if (r >= 0 && tls)
                        r = tls_send_full(tls, piece, n, deadline);
        }
        return r;
}

int plugin_measure(int fd, PluginFacts *ret) {
        gnutls_hash_hd_t hash;
        uint64_t n_bytes;
        int r;

        r = fd_size(fd, &n_bytes);
        if (r < 0)
                return r;
        if (n_bytes == 0)
                return -ENODATA;
        if (n_bytes > CLUSTER_PLUGIN_MAX)
                return -EFBIG;
        *ret = (PluginFacts){ .n_bytes = (uint32_t) n_bytes };
        if (gnutls_hash_init(&hash, GNUTLS_DIG_SHA256) < 0)
                return -ENOMEM;
        r = read_pieces(fd, ret->n_bytes, hash, NULL, 0);
        gnutls_hash_deinit(hash, ret->digest);
        return r;
}

int plugin_send(const Tls *tls, int fd, const PluginFacts *facts, uint64_t deadline) {
        return read_pieces(fd, facts->n_bytes, NULL, tls, deadline);
}

/* Receives exactly as many bytes as were announced, and compares their digest. */
static int receive_bytes(const Tls *tls, const PluginFacts *facts, uint64_t deadline, int fd) {
        uint8_t digest[DIGEST_BYTES];
        void *map;
        int r;

        r = fd_map(fd, facts->n_bytes, true, &map);
        if (r < 0)
                return r;
        r = tls_receive_full(tls, map, facts->n_bytes, deadline);
        if (r >= 0)
                r = gnutls_hash_fast(GNUTLS_DIG_SHA256, map, facts->n_bytes, digest) < 0 ? -EIO : 0;
        fd_unmap(map, facts->n_bytes);
        if (r < 0)
                return r;
        return memcmp(digest, facts->digest, DIGEST_BYTES) == 0 ? 0 : -ESTALE;
}

int plugin_receive(const Tls *tls, const PluginFacts *facts, uint64_t deadline, int *ret_fd) {
        _cleanup_close_ int fd = -EBADF;
        int r;

        if (facts->n_bytes == 0 || facts->n_bytes > CLUSTER_PLUGIN_MAX)
                return -EBADMSG;
        fd = memfd_make("actord-plugin", facts->n_bytes);
        if (fd < 0)
                return fd;
        r = receive_bytes(tls, facts, deadline, fd);
        if (r < 0)
                return r;
        if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SEAL) < 0)
                return -errno;
        *ret_fd = TAKE_FD(fd);
        return 0;
}
