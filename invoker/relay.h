/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A relay is a process that represents an actor on another host. It has an actor's page for orders, eventfd,
 * segments and sandbox. It carries out an order by sending it to the node and waiting for the answer. So the
 * rest of the invoker treats a relay like any actor: gives it orders, watches, kills and reaps it. And a
 * node's messages can do no more harm than an actor. */
#pragma once

#include "include/slot.h"
#include "include/turn.h"

/* The parts of an actor that a relay needs. */
typedef struct RelayContext {
        const JobPage *page;
        WorkerPage *worker;
        void *const *segments; /* [actors]: mapped if the actor is in this container, else NULL */
        int bell_fd;
} RelayContext;

/* fd: a socket of frames to the node's carrier (invoker/carrier.h). If the socket is closed or brings an
 * invalid frame, the process ends. */
_Noreturn void relay_main(const RelayContext *context, uint32_t container, int fd);
