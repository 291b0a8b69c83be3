/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The connection to the daemon. The daemon connects, and gets the spool's descriptor. The invoker reports
 * how far the spool is written. The daemon sends plans. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "include/plan.h"
#include "invoker/spool.h"

typedef struct Link {
        int listen_fd, fd; /* fd -EBADF: no daemon is connected */
        uint32_t n_actors_max;
        uint64_t told;      /* the last record that was announced to the daemon */
        uint64_t told_nsec; /* when record `told` was announced */
        bool told_works;    /* Written.learner_works as it was told */
        bool was_connected;
        bool asked; /* the daemon waits for an answer, even if nothing is new */
        bool has_plan;
        Plan plan; /* the last valid plan */
} Link;

#define LINK_EMPTY \
        { .listen_fd = -EBADF, .fd = -EBADF }

int link_init(int listen_fd, uint32_t n_actors_max, Link *ret);
void link_done(Link *link);

/* Accepts a waiting connection, which replaces an earlier one, and sends Hello. 0; -EAGAIN: none waits;
 * another negative errno: the peer was gone already, and the earlier connection stays. */
int link_accept(Link *link, const Hello *hello, const Spool *spool);
/* Reads a few waiting messages, and passes acknowledgements to the spool. 1: a plan came; 0: nothing new;
 * negative: the connection is closed. */
int link_receive(Link *link, Spool *spool);
/* Tells the daemon in one message of all new records, and whether the learner works.
 * link_receive() notices when the connection fails. */
void link_tell(Link *link, const Spool *spool, bool learner_works);

/* For an invoker that cannot begin: waits for a while until the daemon connects, and sends the reason. First
 * it closes all descriptors above listen_fd, since the limit of open files may be reached. */
void link_tell_failed(int listen_fd, const Failed *failed);
