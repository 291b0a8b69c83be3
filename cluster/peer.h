/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The head's side of one connection, in a process of its own. So a stranger who connects can keep only this
 * process busy, for the time of a handshake. And the encryption for several nodes can use several cores.
 *
 * The process and the head have a SEQPACKET channel. The process sends a PeerReport at each step. After
 * PEER_NAMED it waits for the head's consent: one byte with the stream's descriptor. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "cluster/hello.h"
#include "cluster/plugin.h"

typedef enum PeerStep {
        PEER_NONE,
        PEER_NAMED,       /* the peer is a node of this job; node and facts are set */
        PEER_READY,       /* the node's invoker runs */
        PEER_REFUSED,     /* the peer is no node of this job, or could not start; words: why. node 0: the
                           * peer proved no identity, and may be a stranger */
        PEER_ENDED,       /* the peer was ready, and has ended; words: why */
        PEER_CLOSED,      /* the peer was ready, and the head's invoker has closed the stream */
        PEER_OTHER_BUILD, /* a node of this job has another build of actord; words: both versions */
        _PEER_STEP_MAX,
} PeerStep;

typedef struct PeerReport {
        uint32_t step, node;
        /* the number of the node that the peer claims to be, in a greeting with the job's token; 0: no such
         * greeting came. The peer may still be a stranger */
        uint32_t claimed;
        NodeFacts facts;
        char words[256];
} PeerReport;

typedef struct PeerTerms {
        uint8_t token[TOKEN_BYTES];
        int settings_fd, launch_fd; /* sealed memfds */
        int plugin_fd;              /* the file of Environment=FILE; -EBADF: there is none */
        PluginFacts plugin;
} PeerTerms;

/* Starts a process that takes over the connection. Returns its pid, or a negative errno. */
pid_t peer_start(int tcp_fd, const PeerTerms *terms, int *ret_channel);
/* Receives a report of the process that peer_start() started. 1: it came; 0: there is none; negative: the
 * process has ended, or its report is not valid. */
int peer_receive(int channel, PeerReport *ret);
/* Tells the process behind `channel` to accept its peer as a node. *ret_stream: the end of the peer's stream
 * for the head's invoker. */
int peer_consent(int channel, int *ret_stream);
