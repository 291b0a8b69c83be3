/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The daemon, as the invoker sees it: somebody who connects, is told where the spool is and how far it is
 * written, and sends plans. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "include/plan.h"
#include "invoker/spool.h"

typedef struct Link {
        int listen_fd, fd; /* fd -EBADF: nobody is connected */
        uint32_t n_actors_max;
        uint64_t told; /* the last record that the daemon was told of */
        bool was_connected;
        bool asked; /* it waits for a word, whatever that is */
        bool has_plan;
        Plan plan; /* the last one that made sense */
} Link;

#define LINK_EMPTY \
        { .listen_fd = -EBADF, .fd = -EBADF }

int link_init(int listen_fd, uint32_t n_actors_max, Link *ret);
void link_done(Link *link);

/* A connection waits: the newest that can be told Hello wins. 0; -EAGAIN: none waits; negative: it was gone
 * already. Then the one before, if there is one, stays. */
int link_accept(Link *link, const Hello *hello, const Spool *spool);
/* Reads all messages there are. 1: the plan changed; 0: nothing new; negative: the connection is closed.
 * Acknowledges into the spool. */
int link_receive(Link *link, Spool *spool);
/* Tells of new records, once for all of them. Whatever goes wrong shows in link_receive(). */
void link_tell(Link *link, const Spool *spool);

/* Of an invoker that cannot begin: waits a while for the daemon to connect, and says why. Closes what
 * else it was given: descriptors may be what it lacks. */
void link_tell_failed(int listen_fd, const Failed *failed);
