/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is known of an algorithm outside of the learner, as data: what it keeps between rounds, and the keys that it reads. */
#pragma once

#include <stdbool.h>

#include "include/settings.h"

typedef enum Store {
        STORE_ROLLOUT, /* a round's data, and nothing after it */
        STORE_BUFFER,  /* the data of the last BufferBatches= rounds */
} Store;

typedef struct AlgorithmRow {
        uint32_t store;
        bool target; /* a second set of parameters, NET_TARGET */
} AlgorithmRow;

/* By Algorithm_, which must be one. */
const AlgorithmRow *algorithm_row(uint32_t algorithm);

/* Whether the learner of this algorithm reads the key; keys that are nobody's own are everybody's. */
bool algorithm_uses(uint32_t algorithm, Setting setting);
