/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is known of each slot between rounds, and of the episodes that ended: kept by the learner from raw rewards and ends, since an
 * actor's word about its own score is worth nothing. Changes only when a round is learned from. */
#pragma once

#include "include/record.h"
#include "include/settings.h"
#include "learner/batch.h"
#include "learner/moments.h"

enum { EPISODES_KEPT = 100 };

typedef struct Books {
        uint32_t n_slots;
        double *running_return, *discounted_return; /* [n_slots]: of the episode in progress */
        uint64_t *elapsed_steps;
        double returns[EPISODES_KEPT]; /* of episode i at i % 100 */
        uint64_t n_env_steps, n_episodes;
} Books;

int books_new(uint32_t n_slots, Books **ret);
Books *books_free(Books *books);

/* Enters the steps of the first n_actors blocks; fills what Statistics says of episodes. Carry=reset begins each slot afresh. */
void books_enter(Books *books, const Batch *batch, uint32_t n_actors, bool reset, Statistics *statistics);
/* Moments of the discounted returns along the way, slot by slot; to be called before books_enter(). */
void books_discount(Books *books, const Batch *batch, uint32_t n_actors, bool reset, double gamma,
                Moments *returns);
