/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* actord-cluster on a node. It connects to the head, proves which user it belongs to, starts an invoker
 * through a spawner of its own, and carries the stream's bytes. */
#pragma once

#include <stdint.h>
#include "cluster/hello.h"

/* clang-format off */
/* Exit statuses, which the head turns into sentences. X(name, status, sentence) */
#define NODE_EXITS(X)                                                                                  \
        X(USAGE, 2, "actord-cluster on the node does not understand the head: is it the same build?")  \
        X(CONNECT, 20, "the node cannot connect to this host: is a firewall between them?")            \
        X(MUNGE, 21, "munge does not work on the node: is munged running there?")                      \
        X(REJECTED, 22, "this host refused the node")                                                  \
        X(SPAWN, 23, "actord-spawn cannot be started on the node")                                     \
        X(PARCEL, 24, "the programs did not come by sbcast: is there room for them in the node's /tmp?") \
        X(LATE, 25, "the programs did not come by sbcast in time: is there room in the node's /tmp?")  \
        X(NO_PROGRAM, 126, "actord-cluster cannot be executed on the node")                            \
        X(NO_FILE, 127, "actord is not on the node: put its folder where nodes see it, or install it")
/* clang-format on */

typedef enum NodeExit {
#define X(name, status, sentence) NODE_EXIT_##name = status,
        NODE_EXITS(X)
#undef X
} NodeExit;

/* The sentence for an exit status; "": the status is not in the table. */
const char *node_exit_sentence(int status);

typedef struct NodeTerms {
        const char *address, *port; /* of the head, as numbers */
        uint8_t token[TOKEN_BYTES];
        uint32_t node;
} NodeTerms;

/* Returns the exit status. */
int node_main(const NodeTerms *terms);
