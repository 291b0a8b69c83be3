/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An algorithm is one file. It has an Algorithm, and a function learn(), which calls the functions of
 * learner/runtime.h. A row of lib/algorithm-traits.c says how the algorithm acts, what it keeps and which
 * keys it reads. This row is in lib/ because the daemon and actorctl read it, too. */
#pragma once

#include <stdbool.h>

#include "learner/runtime.h"

typedef struct Algorithm {
        const char *name;
        void (*init)(const JobSettings *settings,
                        double state[ALGORITHM_STATE_MAX]); /* before the first round; may be NULL */
        /* Learns from a round. 0; -ERANGE: a number is not finite; -ETIMEDOUT: another learner stopped. */
        int (*learn)(Runtime *runtime);
        /* Records the loss at the end of the round, with advantages that are already normalised. NULL: the
         * curvature of the loss is not measured. */
        void (*loss)(Runtime *runtime, Tape *tape);
        /* Whether these finite numbers from a file are a possible state of the algorithm. NULL: all are. */
        bool (*possible)(const double state[ALGORITHM_STATE_MAX]);
} Algorithm;

/* algorithm_NAME: one for each word of ALGORITHMS. */
#define X(name, word) extern const Algorithm algorithm_##name;
ALGORITHMS(X)
#undef X

/* Finds an algorithm by its number (ALGORITHM_...); NULL: there is none. */
const Algorithm *algorithm_find(uint32_t algorithm);
