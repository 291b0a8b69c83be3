/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The process that stands for an actor of another host. It has an actor's page, bell, segments and sandbox,
 * and carries an order out by sending it to the node and waiting for what comes back. So the rest of the
 * invoker orders, watches, kills and reaps it as it does any actor, and what a node sends can do no more
 * harm than an actor can. */
#pragma once

#include "include/slot.h"
#include "include/turn.h"

/* What an actor has, as far as a relay needs it. */
typedef struct RelayContext {
        const JobPage *page;
        WorkerPage *worker;
        void *const *segments; /* [actors]: mapped where the actor is ours, NULL elsewhere */
        int bell_fd;
} RelayContext;

/* fd: a socket of frames to the carrier of the node (invoker/carrier.h). Ends the process when that is
 * closed, or what comes makes no sense. */
_Noreturn void relay_main(const RelayContext *context, uint32_t container, int fd);
