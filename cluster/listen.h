/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The head's port and its connections. Each connection has a process (cluster/peer.h). Connections that have
 * not identified themselves are limited in number and time. */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <sys/types.h>
#include "cluster/peer.h"
#include "include/cluster.h"

enum { PEERS_MAX = CLUSTER_NODES_MAX + 64, STRANGERS_MAX = 64, STRANGERS_OF_A_HOST_MAX = 16 };

typedef struct Peer {
        pid_t pid; /* 0: the place is free */
        int channel;
        uint32_t node; /* 0: not known yet */
        bool ready;
        uint64_t deadline_nsec; /* the peer must be ready by then */
        char from[64];          /* the peer's address, or "this host" */
} Peer;

typedef struct Listener {
        int fd;
        PeerTerms terms;
        Peer peers[PEERS_MAX];
        size_t n_strangers;
        uint64_t next_accept_nsec; /* after a failed accept4(): when to try the next one */
        unsigned n_complaints;
} Listener;

/* Opens a port on one address of this host: the address from which this host reaches `towards`. ret_address:
 * the address as a number. 0, or a negative errno with words. */
int listener_open(Listener *listener, const char *towards, char ret_address[64], unsigned *ret_port,
                char words[256]);
/* Whether one more connection may wait for its check. */
bool listener_has_room(const Listener *listener, uint64_t now_nsec);
/* Prints why a connection was refused, for the first COMPLAINTS_MAX connections. */
void listener_complain(Listener *listener, const Peer *peer, const char *words);
/* Accepts one waiting connection. */
void listener_accept(Listener *listener);
void peer_end(Listener *listener, Peer *peer);
void listener_done(Listener *listener);
