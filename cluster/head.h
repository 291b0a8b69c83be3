/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* actord-cluster beside the job's invoker (include/cluster.h). */
#pragma once

#include "cluster/engine.h"

typedef struct HeadTerms {
        int socket_fd;              /* to the invoker, SEQPACKET */
        int settings_fd, launch_fd; /* sealed memfds that are passed to nodes */
        const EngineKind *engine;
        EngineTerms terms;
} HeadTerms;

/* Runs until the invoker ends it, or closes the socket. Returns the exit status. */
int head_main(const HeadTerms *terms);
