/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records that the daemon has not committed yet: a ring in a memfd that outlives the daemon. Only the
 * invoker writes it. When the ring is full, the remaining records of one event are kept outside of the ring,
 * and the job pauses until the daemon has made room. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "include/record.h"

typedef struct Spool {
        int fd; /* no other process can map it for writing */
        SpoolHead *head;
        Record *records;
        uint64_t life;
        uint64_t written, acknowledged;
        Record *held; /* records that wait for a place in the ring */
        uint32_t n_held, n_held_max;
} Spool;

#define SPOOL_EMPTY \
        { .fd = -EBADF }

int spool_init(uint64_t life, Spool *ret);
void spool_done(Spool *spool);

/* No record fits until the daemon has committed some. */
bool spool_is_full(const Spool *spool);

/* Makes room for this many held records: the most that can be written before the job pauses. */
int spool_reserve(Spool *spool, uint32_t n);
/* Whether records wait for a place. Then the job pauses, since further costs could not be recorded. */
bool spool_is_behind(const Spool *spool);

/* Numbers the record (life, seq) and publishes it, or holds it until there is a place. -ENOBUFS: no more can
 * be held. */
int spool_append(Spool *spool, const Record *record);
/* The seq of the newest record, including held ones. */
uint64_t spool_last(const Spool *spool);

/* Notes that records up to this seq are committed. Held records then move to the free places. -EINVAL: this
 * seq was never written. */
int spool_acknowledge(Spool *spool, uint64_t seq);
