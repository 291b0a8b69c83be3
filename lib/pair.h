/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* When a pair of rollouts from one state begins. Slots 2k and 2k + 1 of an actor are partners. When a pair
 * begins, the second one leaves its episode and takes the state of the first; then both go on, each with
 * random streams of its own. The rollout of a partner ends with its episode, or after as many steps as a
 * pair has at most. When both have ended, the next pair begins with the next step; until then the partner
 * that ended first steps on, and these steps belong to no pair. An invocation begins with a pair.
 *
 * All this depends on the ends of the steps alone. So actors, which copy states, and the learner, which
 * hears nothing of it, find the same pairs. */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct PairWalk {
        uint32_t n_steps; /* of the pair in progress */
        bool over[2];
} PairWalk;

static inline bool pair_begins(const PairWalk *walk) {
        return walk->n_steps == 0;
}

/* Whether the next step of this partner, 0 or 1, belongs to the pair. */
static inline bool pair_has(const PairWalk *walk, unsigned partner) {
        return !walk->over[partner];
}

/* Goes on by one step of both. ended: whether an episode did. */
static inline void pair_step(PairWalk *walk, uint32_t steps_max, bool first_ended, bool second_ended) {
        assert(steps_max > 0);

        walk->n_steps++;
        walk->over[0] = walk->over[0] || first_ended || walk->n_steps == steps_max;
        walk->over[1] = walk->over[1] || second_ended || walk->n_steps == steps_max;
        if (walk->over[0] && walk->over[1])
                *walk = (PairWalk){};
}
