/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Containers, the processes that host actors, and the pool of all of them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "invoker/loop.h"
#include "invoker/nodes.h"
#include "invoker/progress.h"
#include "invoker/report.h"
#include "lib/warm.h"

typedef enum ContainerState {
        CONTAINER_ABSENT,
        CONTAINER_STARTING, /* its first order is out: say that you are ready */
        CONTAINER_READY,
        CONTAINER_PARKED, /* frozen */
        CONTAINER_ENDING, /* killed, not reaped yet */
} ContainerState;

typedef struct Container {
        Worker worker;
        uint32_t node_index;      /* of its node in Nodes; NODE_NONE: its process works here */
        int relay_fd;             /* for the moment of a fork: what a relay keeps; -EBADF */
        uint64_t node_peak_bytes; /* of the actor on its node, since the last reading */
        int ask_fd;               /* the bell that its actors ring when the learner acts for them; -EBADF */
        Cgroup scope;             /* ActorScope=each: its own; fd -EBADF: a leaf of the job's */
        uint32_t index, state;
        bool has_worker;   /* page and leaf exist; they are made when they are first needed */
        bool fresh;        /* has carried out no order: the next invocation is a cold one */
        Imagined imagined; /* fused.c: there is no process, but a fleet would have one */
        /* OrderKind that is not over, until it has succeeded or the failed process is reaped */
        uint32_t doing;
        Attempts starts;
        uint32_t unread; /* the actor whose last invocation was not metered yet; ACTOR_NONE */
        uint32_t fault;  /* for which we killed it; FAULT_NONE: we did not, or for none */
        int32_t detail;
        uint64_t spare_nsec;                        /* CPU that no record has yet */
        uint64_t parked_nsec, parked_emulated_nsec; /* since when it is billed as idle */
        uint64_t idle_emulated_nsec;                /* since when it is idle */
        bool has_episode;                           /* it plays an evaluation's episode */
        uint64_t episode;
        Attempts plays;
} Container;

typedef struct Pool {
        Container *containers; /* [n_containers + n_evaluators]; NULL: not made yet */
        Placement *place;
        const Progress *progress;
        Loop *loop;
        Reporter *reporter;
        Nodes *nodes;
} Pool;

int pool_init(Pool *pool);
void pool_done(Pool *pool);
int pool_make_ask_bells(Pool *pool); /* for actors' questions to a learner that acts for them */
int pool_fork(Pool *pool, Container *c);
void pool_order(Pool *pool, Container *c, const Order *order);
void pool_arrange(Pool *pool, uint32_t n_needed);     /* parks and thaws containers that train */
void pool_park(Container *c, uint64_t emulated_nsec); /* idle since then, on the emulated clock */
void pool_thaw(Pool *pool, Container *c);
void pool_end(Container *c, uint32_t fault, int32_t detail);
void pool_end_all(Pool *pool);              /* and reaps */
void pool_report_idle(Pool *pool);          /* records the idle time of all that are parked, until now */
uint64_t pool_spare_nsec(const Pool *pool); /* CPU time that no record has yet, of all containers */
uint64_t pool_take(Container *c);           /* the same of one; the caller writes it into a record */
void pool_read(Pool *pool, Container *c);   /* meters its last invocation */
/* How many containers each node has. */
void pool_count(const Pool *pool, uint32_t used[NODES_MAX], uint32_t *ret_here);
void pool_came_home(Container *c, const Answer *answer); /* takes over what an actor used on its node */
/* The fault that an answer claims. An actor can claim few; a relay may bring any, as the invoker of its
 * node saw it. */
uint32_t pool_claim(const Container *c, const Answer *answer);

/* Its number in records: containers that train count from 0, those that evaluate from the number of
 * actors. */
static inline uint32_t container_number(const Placement *place, const Container *c) {
        return c->index < place->n_containers ? c->index
                                              : place->n_actors + (c->index - place->n_containers);
}

/* Its number while it plays an evaluation; in a job that trains these numbers follow those of the actors. */
static inline uint32_t container_plays_as(const Placement *place, const Container *c) {
        return place->n_actors + c->index - (place_trains(place) ? place->n_containers : 0);
}
