/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The data of the last rounds, in a ring. For each round it keeps the inputs of learning: observations as
 * the actors saw them, and rewards, actions and probabilities as they were in that round. Values and
 * advantages are computed again. */
#pragma once

#include <stdbool.h>

#include "learner/store/batch.h"

enum { BUFFER_BATCHES_MAX = 64 };

typedef struct Buffer {
        uint32_t n;         /* the most rounds that it holds */
        uint64_t n_pushed;  /* rounds so far; round i is at i % n */
        uint64_t *n_actors; /* [n] */
        uint32_t *n_finals; /* [n][n_blocks] */
        Batch columns;      /* the kept columns, [n][rows] each; NULL: not kept */
        /* [n]: a batch for each round. Its kept columns are in `columns`; it shares all other columns with
         * the live batch. */
        Batch views[BUFFER_BATCHES_MAX];
} Buffer;

/* Makes a buffer for n rounds, each in a batch of the shape of `live`. 0 or -ENOMEM. */
int buffer_new(uint32_t n, const Batch *live, Buffer **ret);
Buffer *buffer_free(Buffer *buffer);

void buffer_push(Buffer *buffer, const Batch *live, uint32_t n_actors);
/* the number of rounds in the buffer */
uint32_t buffer_count(const Buffer *buffer);
Batch *buffer_at(Buffer *buffer, uint32_t age, uint32_t *ret_n_actors); /* age 0: the newest */

/* Whether data from a checkpoint can have come from buffer_push(). Later sums and indices rely on this. */
bool buffer_possible(const Buffer *buffer);
