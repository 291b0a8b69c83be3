/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records that the daemon has not committed yet: a ring in a memfd, which outlives the daemon's restarts.
 * Only the invoker writes it. When the ring is full, what one event still has to say is held beside it,
 * and the job pauses until the daemon has made room. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "include/record.h"

typedef struct Spool {
        int fd; /* nobody else can map it for writing */
        SpoolHead *head;
        Record *records;
        uint64_t life;
        uint64_t written, acknowledged;
        Record *held; /* written when there was no place: in the ring as soon as there is one */
        uint32_t n_held, n_held_max;
} Spool;

#define SPOOL_EMPTY \
        { .fd = -EBADF }

int spool_init(uint64_t life, Spool *ret);
void spool_done(Spool *spool);

/* No record fits until the daemon has committed some. */
bool spool_is_full(const Spool *spool);

/* Lets this many records wait beside the ring: as many as are written before the job can pause. */
int spool_reserve(Spool *spool, uint32_t n);
/* Records wait for a place: the job pauses, since nobody would know what it costs. */
bool spool_is_behind(const Spool *spool);

/* Gives the record its name (life, seq) and publishes it, or holds it until there is a place. -ENOBUFS:
 * no more can be held. */
int spool_append(Spool *spool, const Record *record);
/* The number of the newest record, held ones included. */
uint64_t spool_last(const Spool *spool);

/* Records up to this one are committed, and those that were held take their places. -EINVAL: it was never
 * written. */
int spool_acknowledge(Spool *spool, uint64_t seq);
