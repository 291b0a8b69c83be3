/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sends the file of Environment=FILE to nodes, inside the TLS session. The head computes the file's digest
 * once, and a node begins only with bytes of this digest. So actors on all hosts run the same code. A node
 * keeps the bytes in sealed memory, so no file is left there, however the node ends. */
#pragma once

#include <stdint.h>
#include "cluster/tls.h"

typedef struct PluginFacts {
        uint32_t n_bytes; /* 0: the job has none */
        uint8_t digest[DIGEST_BYTES];
} PluginFacts;

/* Finds the file's size and digest. -EFBIG: it has more than CLUSTER_PLUGIN_MAX bytes; -ENODATA: it is
 * empty, or shrinks meanwhile. */
int plugin_measure(int fd, PluginFacts *ret);
/* Sends exactly facts->n_bytes. -ENODATA: the file has become shorter. */
int plugin_send(const Tls *tls, int fd, const PluginFacts *facts, uint64_t deadline_nsec);
/* Receives the file into sealed memory, *ret_fd. -EBADMSG: the length is impossible; -ESTALE: the bytes have
 * another digest; another negative errno: the bytes did not come. */
int plugin_receive(const Tls *tls, const PluginFacts *facts, uint64_t deadline_nsec, int *ret_fd);
