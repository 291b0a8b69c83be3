/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The smallest task that an algorithm can learn. Tests use it to see that each algorithm learns. */
#pragma once

#include "lib/algorithm-traits.h"
#include "lib/forward.h"
#include "lib/network.h"
#include "lib/rng.h"
#include "tests/unit/learner-fixture.h"

/* Fills a rollout of a bandit in which the published policy acts. An episode is one step. Of choices, the
 * first one is rewarded if the observation is positive, and the second one if it is not. The reward of a
 * continuous action is higher the nearer the action is to the observation. */
static inline void play_bandit(Bed *bed, Forward *forward, uint32_t update) {
        const SegmentLayout *l = &bed->page.segment;
        void *segment = bed->segments[0];
        float parameters[4];
        ActordRandom random;

        random_begin(&random, 7, RANDOM_ACTION, 0, update, 0);
        for (uint64_t row = 0; row < (uint64_t) (l->steps + 1) * l->envs; row++)
                *(float *) segment_observation(segment, l, row) =
                                (float) actord_random_uniform(&random, -1, 1);
        /* If the algorithm compares pairs, the two steps of a pair show the same observation. */
        for (uint64_t row = 1;
                        algorithm_pair_steps(&bed->settings) > 0 && row < (uint64_t) l->steps * l->envs;
                        row += 2)
                *(float *) segment_observation(segment, l, row) =
                                *(float *) segment_observation(segment, l, row - 1);
        forward_load(forward, policy_bank(bed->policy, &bed->page.policy, update), &bed->page.policy);
        for (uint64_t row = 0; row < (uint64_t) l->steps * l->envs; row++) {
                float x = *(float *) segment_observation(segment, l, row);
                double *reward = &segment_rewards(segment, l)[row];

                forward_row(forward, &x, parameters);
                action_sample(&bed->page.network, parameters, false, &random,
                                segment_action(segment, l, row),
                                &segment_log_probabilities(segment, l)[row]);
                if (!act_is_continuous(bed->page.network.act))
                        *reward = *(int32_t *) segment_action(segment, l, row) == (x > 0 ? 0 : 1);
                else
                        *reward = 1 - pow((double) (*(float *) segment_action(segment, l, row) - x), 2);
                segment_ends(segment, l)[row] = END_TERMINATED;
        }
        for (uint32_t e = 0; e < l->envs; e++)
                segment_snapshot(segment, l, ~update & 1, e)->episode =
                                1 + (uint64_t) (update + 1) * l->steps;
}
