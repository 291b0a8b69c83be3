/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The head: actord-cluster beside the job's invoker (include/cluster.h). */
#pragma once

#include "cluster/engine.h"
#include "cluster/peer.h"

typedef struct HeadTerms {
        int socket_fd;   /* to the invoker, SEQPACKET */
        PeerTerms peers; /* the data that nodes get; head.c draws the token in it */
        const EngineKind *engine;
        EngineTerms terms;
} HeadTerms;

/* Runs the head until the invoker ends it or closes the socket, or until SIGTERM or SIGINT. Returns the exit
 * status. */
int head_main(const HeadTerms *terms);
