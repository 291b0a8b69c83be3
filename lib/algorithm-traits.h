/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is known of an algorithm outside of the learner, as data: what it keeps between rounds, and which
 * keys it reads. */
#pragma once

#include <stdbool.h>

#include "include/settings.h"

typedef enum Store {
        STORE_ROLLOUT, /* a round's data, and nothing after it */
        STORE_BUFFER,  /* the data of the last BufferBatches= rounds */
        STORE_REPLAY,  /* the last ReplaySize= steps, with what followed each */
} Store;

/* What the network's outputs say of an action. */
typedef enum ActsBy {
        ACTING_DISTRIBUTION,  /* probabilities, or a density: ACT_CATEGORICAL, ACT_GAUSSIAN */
        ACTING_VALUES,        /* a value for each: ACT_EPSILON_GREEDY */
        ACTING_DETERMINISTIC, /* the action itself: ACT_DETERMINISTIC */
        ACTING_SQUASHED,      /* a density within the bounds: ACT_SQUASHED */
} ActsBy;

#define CRITICS_MAX 2u

typedef struct AlgorithmRow {
        uint32_t store;
        bool target; /* a second set of parameters, NET_TARGET */
        bool stale;  /* may learn from what an older version of the policy did */
        uint32_t acting;
        /* networks beside the policy's that estimate the value of an action, each with a target of its
         * own; at most CRITICS_MAX */
        uint32_t n_critics;
} AlgorithmRow;

/* algorithm: a valid Algorithm_. */
const AlgorithmRow *algorithm_row(uint32_t algorithm);

/* The bytes that are kept from round to round. observation_bytes: of one observation; frames: how many of
 * its frames are kept apart; n_action: numbers in an action. */
uint64_t algorithm_store_bytes(
                const JobSettings *settings, uint64_t observation_bytes, uint32_t frames, uint64_t n_action);

/* Steps of each slot in a replay store of ReplaySize=. */
uint64_t algorithm_replay_steps(const JobSettings *settings);

/* How often an update passes over its data, unless it ends early. */
uint32_t algorithm_epochs(const JobSettings *settings);

/* Rows of gradients that are computed for each row that actors bring, unless epochs end early. */
double algorithm_passes(const JobSettings *settings);

/* Whether the learner of this algorithm reads the key; all algorithms read a key that belongs to none. */
bool algorithm_uses(uint32_t algorithm, Setting setting);
