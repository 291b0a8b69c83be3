/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* When pairs begin and end. A pair is two rollouts that start in the same state. Slots 2k and 2k + 1 of an
 * actor are partners. When a pair begins, the second partner leaves its episode and takes the state of the
 * first. Then both go on, each with random streams of its own. A partner's rollout ends with its episode, or
 * when the pair has reached the step limit. When both rollouts have ended, the next pair begins with the
 * next step. Until then the partner that ended first continues to step; these steps belong to no pair. Each
 * invocation begins with a new pair.
 *
 * All this follows from the ends of episodes alone. So the actors, which copy the states, and the learner
 * find the same pairs without messages. */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct PairWalk {
        uint32_t n_steps; /* steps of the current pair so far */
        bool over[2];
} PairWalk;

static inline bool pair_begins(const PairWalk *walk) {
        return walk->n_steps == 0;
}

/* Whether the next step of this partner (0 or 1) belongs to the pair. It does not if the partner's episode
 * has ended and the next pair has not begun. */
static inline bool pair_has(const PairWalk *walk, unsigned partner) {
        return !walk->over[partner];
}

/* Advances both partners by one step. first_ended, second_ended: whether that partner's episode has
 * ended. */
static inline void pair_step(PairWalk *walk, uint32_t steps_max, bool first_ended, bool second_ended) {
        assert(steps_max > 0);

        walk->n_steps++;
        walk->over[0] = walk->over[0] || first_ended || walk->n_steps == steps_max;
        walk->over[1] = walk->over[1] || second_ended || walk->n_steps == steps_max;
        if (walk->over[0] && walk->over[1])
                *walk = (PairWalk){};
}
