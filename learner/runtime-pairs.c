/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The pairs of a round, in the order of actors, environments and steps; this order does not depend on
 * timing. One thread sums over the steps of a pair, in double precision. */
#include <assert.h>

#include "include/slot.h"
#include "learner/runtime-internal.h"
#include "lib/pair.h"

/* The batch row of step t in the rollout of one partner of a pair. */
static size_t pair_row(const Batch *b, const Pair *pair, unsigned partner, uint32_t t) {
        return pair->row + (size_t) t * b->envs + partner;
}

double runtime_pair_log_probability(const Runtime *rt, const Pair *pair) {
        const Batch *b = rt->batch;
        double sums[2] = {};

        for (unsigned partner = 0; partner < 2; partner++)
                for (uint32_t t = 0; t < pair->n_steps[partner]; t++)
                        sums[partner] += (double) b->log_probability[pair_row(b, pair, partner, t)];
        return sums[0] - sums[1];
}

/* The discounted sum of the rewards of one partner of a pair. */
static double pair_return(const Batch *b, const Pair *pair, unsigned partner, double gamma) {
        double sum = 0.0;

        for (uint32_t t = pair->n_steps[partner]; t-- > 0;)
                sum = (double) b->scaled[pair_row(b, pair, partner, t)] + gamma * sum;
        return sum;
}

static void pair_enter(Runtime *rt, Pair pair, double gamma) {
        pair.reward = pair_return(rt->batch, &pair, 0, gamma) - pair_return(rt->batch, &pair, 1, gamma);
        pair.log_probability = runtime_pair_log_probability(rt, &pair);
        rt->pairs[rt->n_pairs++] = pair;
}

/* Finds the pairs of two environments of one actor. row: the batch row of the first environment's first
 * step. */
static void pairs_find(Runtime *rt, size_t row, double gamma) {
        const Batch *b = rt->batch;
        PairWalk walk = {};
        Pair pair = {};

        for (uint32_t t = 0; t < b->steps; t++, row += b->envs) {
                if (pair_begins(&walk))
                        pair = (Pair){ .row = row };
                for (unsigned partner = 0; partner < 2; partner++)
                        pair.n_steps[partner] += pair_has(&walk, partner);

                pair_step(&walk, rt->pair_steps, b->ends[row] != END_NOT, b->ends[row + 1] != END_NOT);
                if (pair_begins(&walk) || t + 1 == b->steps)
                        pair_enter(rt, pair, gamma);
        }
}

static Rows pairs_rows(const Runtime *rt) {
        Batch *b = rt->batch;
        uint32_t n = 0;

        for (uint32_t k = 0; k < rt->n_pairs; k++)
                for (unsigned partner = 0; partner < 2; partner++)
                        for (uint32_t t = 0; t < rt->pairs[k].n_steps[partner]; t++)
                                b->order[n++] = (uint32_t) pair_row(b, &rt->pairs[k], partner, t);
        return (Rows){ .order = b->order, .n = n };
}

Pairs runtime_pairs(Runtime *rt, double gamma) {
        const Batch *b = rt->batch;

        assert(rt->pairs && b == rt->live);

        rt->n_pairs = 0;
        for (uint32_t a = 0; a < rt->n_actors; a++)
                for (uint32_t e = 0; e < b->envs; e += 2)
                        pairs_find(rt, batch_block(b, a) + e, gamma);
        return (Pairs){ .pairs = rt->pairs, .n = rt->n_pairs, .rows = pairs_rows(rt) };
}

void runtime_pair_weigh(Runtime *rt, const Pair *pair, double weight) {
        Batch *b = rt->batch;

        for (unsigned partner = 0; partner < 2; partner++)
                for (uint32_t t = 0; t < pair->n_steps[partner]; t++)
                        b->advantage[pair_row(b, pair, partner, t)] =
                                        (float) (partner == 0 ? weight : -weight);
}
