/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The head's side of one connection, in a process of its own: a stranger who connects can keep nothing but
 * that process busy, for as long as a handshake may take, and each node has a core for its encryption.
 *
 * The process and the head have a SEQPACKET channel. The process sends a PeerReport at each step. After
 * PEER_NAMED it waits for the head's consent, one byte with the stream's descriptor. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "cluster/hello.h"

typedef enum PeerStep {
        PEER_NONE,
        PEER_NAMED,       /* a process of this user on a node: node, facts */
        PEER_READY,       /* its invoker runs */
        PEER_REFUSED,     /* not one of ours, or it could not start: words; node 0 where unknown */
        PEER_ENDED,       /* it was ready, and is over: words */
        PEER_CLOSED,      /* it was ready, and the invoker has closed its stream */
        PEER_OTHER_BUILD, /* a node of this job with another version of the product: words */
        _PEER_STEP_MAX,
} PeerStep;

typedef struct PeerReport {
        uint32_t step, node;
        NodeFacts facts;
        char words[256];
} PeerReport;

typedef struct PeerTerms {
        uint8_t token[TOKEN_BYTES];
        int settings_fd, launch_fd; /* sealed memfds */
} PeerTerms;

/* Takes the connection over. Returns the process, and *ret_channel; or a negative errno. */
pid_t peer_start(int tcp_fd, const PeerTerms *terms, int *ret_channel);
/* 1: a report; 0: none is there; negative: the process has ended. */
int peer_receive(int channel, PeerReport *ret);
/* The head's consent: ret_stream is the invoker's end. */
int peer_consent(int channel, int *ret_stream);
