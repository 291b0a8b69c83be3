/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Statistics of each slot between rounds, and of the episodes that ended. The learner keeps them from raw
 * rewards and ends, since actors could lie about their score. They change only when a round is learned
 * from. */
#pragma once

#include <stdbool.h>

#include "include/record.h"
#include "include/settings.h"
#include "learner/store/batch.h"
#include "learner/normaliser.h"

enum { EPISODES_KEPT = 100 };

typedef struct EpisodeStatistics {
        uint32_t n_slots;
        double *running_return, *discounted_return; /* [n_slots]: of the episode in progress */
        uint64_t *elapsed_steps;
        double returns[EPISODES_KEPT]; /* of episode i at i % 100 */
        uint64_t n_env_steps, n_episodes;
        uint32_t stride; /* 1; 2: of each pair of slots the first alone has episodes */
} EpisodeStatistics;

int episode_statistics_new(uint32_t n_slots, bool pairs, EpisodeStatistics **ret);
EpisodeStatistics *episode_statistics_free(EpisodeStatistics *episodes);

/* The second slot of a pair (lib/pair.h) leaves its episodes halfway to join those of the first. What it
 * ends is ended early more often than not, so that it would bias the mean.
 *
 * Enters the steps of the first n_actors blocks; fills what Statistics says of episodes. Carry=reset
 * begins each slot afresh. */
void episode_statistics_enter(EpisodeStatistics *episodes, const Batch *batch, uint32_t n_actors, bool reset,
                Statistics *statistics);
/* Normaliser of the discounted returns along the way, slot by slot; to be called before
 * episode_statistics_enter(). */
void episode_statistics_discount(EpisodeStatistics *episodes, const Batch *batch, uint32_t n_actors,
                bool reset, double gamma, Normaliser *returns);
