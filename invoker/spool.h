/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records that the daemon has not committed yet: a ring in a memfd, which outlives the daemon's restarts. Written here alone. */
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
} Spool;

#define SPOOL_EMPTY \
        { .fd = -EBADF }

int spool_init(uint64_t life, Spool *ret);
void spool_done(Spool *spool);

/* No record fits until the daemon has committed some. */
bool spool_is_full(const Spool *spool);

/* Gives the record its name (life, seq) and publishes it. -ENOBUFS: full. */
int spool_append(Spool *spool, const Record *record);

/* Records up to this one are committed. -EINVAL: it was never written. */
int spool_acknowledge(Spool *spool, uint64_t seq);
