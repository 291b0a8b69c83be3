/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Episode accounting in (round, step, slot) order, which no timing can change. */
#include "learner/books.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/cleanup.h"

DEFINE_CLEANUP(Books *, books_free)

Books *books_free(Books *books) {
        if (!books)
                return NULL;

        free(books->running_return);
        free(books->discounted_return);
        free(books->elapsed_steps);
        free(books);
        return NULL;
}

int books_new(uint32_t n_slots, Books **ret) {
        _cleanup_(books_freep) Books *books = NULL;

        assert(ret);

        books = calloc(1, sizeof(*books));
        if (!books)
                return -ENOMEM;
        books->n_slots = n_slots;
        books->running_return = calloc(n_slots, sizeof(double));
        books->discounted_return = calloc(n_slots, sizeof(double));
        books->elapsed_steps = calloc(n_slots, sizeof(uint64_t));
        if (!books->running_return || !books->discounted_return || !books->elapsed_steps)
                return -ENOMEM;

        *ret = TAKE_PTR(books);
        return 0;
}

/* Episodes that never came to an end are dropped: a slot that starts afresh has earned nothing yet. */
static void books_begin(Books *books, const Batch *batch, uint32_t n_actors, bool reset) {
        for (uint32_t s = 0; s < n_actors * batch->envs; s++) {
                uint32_t slot = batch_slot(batch, s);

                if (reset || batch->lost[slot]) {
                        books->running_return[slot] = 0.0;
                        books->elapsed_steps[slot] = 0;
                }
        }
}

static double books_mean(const Books *books) {
        double sum = 0.0;

        if (books->n_episodes < EPISODES_KEPT)
                return NAN;
        for (unsigned i = 0; i < EPISODES_KEPT; i++)
                sum += books->returns[(books->n_episodes + i) % EPISODES_KEPT];
        return sum / EPISODES_KEPT;
}

void books_enter(Books *books, const Batch *batch, uint32_t n_actors, bool reset, Statistics *statistics) {
        uint64_t n_ended = 0, n_steps = 0;
        double sum = 0.0;

        assert(books);
        assert(n_actors * batch->envs <= books->n_slots);

        books_begin(books, batch, n_actors, reset);

        for (uint32_t t = 0; t < batch->steps; t++)
                for (uint32_t s = 0; s < n_actors * batch->envs; s++) {
                        size_t row = batch_block(batch, s / batch->envs) + (size_t) t * batch->envs +
                                     s % batch->envs;
                        uint32_t slot = batch_slot(batch, s);

                        books->running_return[slot] += batch->rewards[row];
                        books->elapsed_steps[slot]++;
                        if (batch->ends[row] == END_NOT)
                                continue;

                        books->returns[books->n_episodes++ % EPISODES_KEPT] = books->running_return[slot];
                        sum += books->running_return[slot];
                        n_steps += books->elapsed_steps[slot];
                        n_ended++;
                        books->running_return[slot] = 0.0;
                        books->elapsed_steps[slot] = 0;
                }

        books->n_env_steps += (uint64_t) n_actors * batch->step_rows;
        statistics->return_mean = books_mean(books);
        statistics->return_round = n_ended > 0 ? sum / (double) n_ended : NAN;
        statistics->episode_steps = n_ended > 0 ? (double) n_steps / (double) n_ended : NAN;
        statistics->n_env_steps = books->n_env_steps;
        statistics->n_episodes = books->n_episodes;
}

void books_discount(Books *books, const Batch *batch, uint32_t n_actors, bool reset, double gamma,
                Moments *returns) {
        for (uint32_t s = 0; s < n_actors * batch->envs; s++) {
                size_t first = batch_block(batch, s / batch->envs) + s % batch->envs;
                uint32_t slot = batch_slot(batch, s);
                double value = reset || batch->lost[slot] ? 0.0 : books->discounted_return[slot];
                double mean = 0.0, m2 = 0.0;

                /* Welford's recurrence: the values need not be kept. */
                for (uint32_t t = 0; t < batch->steps; t++) {
                        size_t row = first + (size_t) t * batch->envs;
                        double delta;

                        value = value * gamma + batch->rewards[row];
                        delta = value - mean;
                        mean += delta / (double) (t + 1);
                        m2 += delta * (value - mean);
                        if (batch->ends[row] != END_NOT)
                                value = 0.0;
                }
                books->discounted_return[slot] = value;
                moments_merge(returns, batch->steps, &mean, &m2);
        }
}
