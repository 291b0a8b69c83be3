/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The data of the last rounds, in a ring. Of each round it keeps the inputs of learning: observations as
 * the actors saw them, rewards as they were scaled then, actions with the probability that they had.
 * Values and advantages are computed anew. */
#pragma once

#include <stdbool.h>

#include "learner/store/batch.h"

enum { BUFFER_BATCHES_MAX = 64 };

typedef struct Buffer {
        uint32_t n;                      /* rounds that it holds at most */
        uint64_t n_pushed;               /* rounds ever; round i lies at i % n */
        uint64_t *n_actors;              /* [n] */
        uint32_t *n_finals;              /* [n][n_blocks] */
        Batch columns;                   /* those of the data, [n][rows] each; NULL: not kept */
        Batch views[BUFFER_BATCHES_MAX]; /* [n]: data here, what is computed from them in the live batch */
} Buffer;

/* For batches of this shape. */
int buffer_new(uint32_t n, const Batch *live, Buffer **ret);
Buffer *buffer_free(Buffer *buffer);

void buffer_push(Buffer *buffer, const Batch *live, uint32_t n_actors);
uint32_t buffer_count(const Buffer *buffer);                            /* rounds that are there */
Batch *buffer_at(Buffer *buffer, uint32_t age, uint32_t *ret_n_actors); /* age 0: the newest */

/* Whether data out of a checkpoint can have come from buffer_push(): later sums and indices rely on it. */
bool buffer_possible(const Buffer *buffer);
