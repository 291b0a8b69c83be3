/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The running sums of each slot's current episode, which go on from round to round, and statistics of the
 * episodes that ended. The learner computes them from raw rewards and ends, since actors could lie about
 * their scores. The statistics change only when the learner learns from a round. */
#pragma once

#include <stdbool.h>

#include "include/record.h"
#include "include/settings.h"
#include "learner/store/batch.h"
#include "learner/normaliser.h"

enum { EPISODES_KEPT = 100 };

typedef struct EpisodeStatistics {
        uint32_t n_slots;
        double *running_return, *discounted_return; /* [n_slots]: of the current episode */
        uint64_t *elapsed_steps;
        double returns[EPISODES_KEPT]; /* the return of episode i is at i % 100 */
        uint64_t n_env_steps, n_episodes;
        uint32_t stride; /* 1; or 2: only the first slot of each pair has episodes */
} EpisodeStatistics;

int episode_statistics_new(uint32_t n_slots, bool pairs, EpisodeStatistics **ret);
EpisodeStatistics *episode_statistics_free(EpisodeStatistics *episodes);

/* Adds the steps of the batch's first n_actors rollouts, and fills in the statistics of episodes. reset:
 * each slot has begun a new episode (Carry=reset); otherwise only those that lost theirs have (Batch.lost).
 *
 * The second slot of a pair (lib/pair.h) is left out. It usually leaves its episode before the end, to join
 * the episode of the first slot. Most episodes that it does finish are short, so their returns would bias
 * the mean. */
void episode_statistics_enter(EpisodeStatistics *episodes, const Batch *batch, uint32_t n_actors, bool reset,
                Statistics *statistics);
/* Adds each slot's discounted returns to the normaliser `returns`. Call this before
 * episode_statistics_enter(). */
void episode_statistics_discount(EpisodeStatistics *episodes, const Batch *batch, uint32_t n_actors,
                bool reset, double gamma, Normaliser *returns);
