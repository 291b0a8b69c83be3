/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Containers: processes that host actors. The pool holds all of them. */
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
        CONTAINER_STARTING, /* it has its first order, to report that it is ready */
        CONTAINER_READY,
        CONTAINER_PARKED, /* frozen */
        CONTAINER_ENDING, /* killed, but not reaped yet */
} ContainerState;

typedef struct Container {
        Worker worker;
        uint32_t node_index;      /* its node's index in Nodes; NODE_NONE: it works here */
        int relay_fd;             /* a relay's socket, during the fork; otherwise -EBADF */
        uint64_t node_peak_bytes; /* peak memory on the actor's node, since the last reading */
        uint64_t away_nsec;       /* when its node last reported CPU time; before that: when it started */
        int ask_fd;               /* the eventfd by which actors ask the learner for actions, or -EBADF */
        Cgroup scope; /* ActorScope=each: its own; fd -EBADF: the container is a leaf of the job's scope */
        uint32_t index, state;
        bool has_worker;   /* page and leaf exist; they are made at the first need */
        bool fresh;        /* it has carried out no order but its first: its next invocation is a cold one */
        Imagined imagined; /* this container in an emulated fleet without deaths (pool_is_cold()) */
        bool begins_cold;  /* the imagined container starts for this round */
        /* the OrderKind in progress, until it has succeeded or the failed process is reaped */
        uint32_t doing;
        Attempts starts;
        uint32_t unread; /* the actor whose last invocation is not metered yet, or ACTOR_NONE */
        uint32_t fault;  /* the fault for which the invoker killed it; FAULT_NONE: there is none */
        int32_t detail;
        uint64_t spare_nsec;                        /* CPU time that no record has yet */
        uint64_t parked_nsec, parked_emulated_nsec; /* its idle time is billed from here on */
        uint64_t idle_emulated_nsec;                /* when it became idle */
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
int pool_make_ask_bells(Pool *pool); /* if the learner acts: makes asks_fd and stop_fd of Placement */
int pool_fork(Pool *pool, Container *c);
void pool_order(Pool *pool, Container *c, const Order *order);
void pool_arrange(Pool *pool, uint32_t n_needed); /* parks (freezes), thaws or ends training containers */
/* Call this at the start of a round: decides which imagined containers start for it. */
void pool_imagine(Pool *pool, uint32_t n_needed);
/* Whether an invocation starts cold. Where no container exists (fused), or under Clock=model, this is so for
 * the first invocation of an imagined container: it depends on the rounds, and not on what died. Otherwise
 * it is so for a container that has carried out no order but its first. */
bool pool_is_cold(const Pool *pool, const Container *c, uint32_t actor);
/* After a restart: the imagined containers of actors that have acted before exist already. */
void pool_resume(Pool *pool);
/* emulated_nsec: when the container became idle, on the emulated clock */
void pool_park(Container *c, uint64_t emulated_nsec);
void pool_thaw(Pool *pool, Container *c);
void pool_end(Container *c, uint32_t fault, int32_t detail);
void pool_end_all(Pool *pool);              /* and reaps them */
void pool_report_idle(Pool *pool);          /* records the idle time of all parked containers until now */
uint64_t pool_spare_nsec(const Pool *pool); /* all containers' CPU time that is in no record yet */
/* Takes the container's CPU time that is in no record yet. The caller writes it into a record. */
uint64_t pool_take(Container *c);
void pool_read(Pool *pool, Container *c); /* meters its last invocation */
/* The number of containers on each node. */
void pool_count(const Pool *pool, uint32_t used[NODES_MAX], uint32_t *ret_here);
/* Adds the use on the actor's node, which the answer reports, to the container's CPU time and peak. */
void pool_came_home(const Pool *pool, Container *c, const Answer *answer);
/* The fault in an answer. An actor may claim only a few faults. A relay may report any fault, since the
 * invoker of its node has found it. */
uint32_t pool_claim(const Container *c, const Answer *answer);

/* The container's number in records. Containers that train have numbers from 0 up, and evaluating containers
 * have numbers from the number of actors up. */
static inline uint32_t container_number(const Placement *place, const Container *c) {
        return c->index < place->n_containers ? c->index
                                              : place->n_actors + (c->index - place->n_containers);
}

/* The container's number while it plays an evaluation. In a job that trains, these numbers come after those
 * of the actors. */
static inline uint32_t container_plays_as(const Placement *place, const Container *c) {
        return place->n_actors + c->index - (place_trains(place) ? place->n_containers : 0);
}
