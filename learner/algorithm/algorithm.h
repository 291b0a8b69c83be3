/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An algorithm is one file: this row, and learn(), which calls the functions of learner/runtime.h. A row of
 * lib/algorithm-traits.c says how it acts, what it keeps and which keys it reads. That row is in lib/
 * because the daemon and actorctl read it, too. */
#pragma once

#include <stdbool.h>

#include "learner/runtime.h"

typedef struct Algorithm {
        const char *name;
        void (*init)(const JobSettings *settings,
                        double state[ALGORITHM_STATE_MAX]); /* before the first round; may be NULL */
        int (*learn)(Runtime *runtime);                     /* 0; -ERANGE: something is not finite */
        /* Records the loss as it was at the end of the round, for advantages that are normalised already.
         * NULL: the curvature of the loss is not measured. */
        void (*loss)(Runtime *runtime, Tape *tape);
        /* The chance of a random action for the next round's actors, after n_env_steps and with n_windows in
         * the replay store. NULL: the policy itself is random, and nothing else. */
        double (*epsilon)(const JobSettings *settings, uint64_t n_env_steps, uint64_t n_windows);
        /* Whether finite numbers from a file can be the algorithm's state. NULL: any can. */
        bool (*possible)(const double state[ALGORITHM_STATE_MAX]);
} Algorithm;

/* algorithm_NAME: one for each word of ALGORITHMS. */
#define X(name, word) extern const Algorithm algorithm_##name;
ALGORITHMS(X)
#undef X

/* By Algorithm_; NULL: there is none. */
const Algorithm *algorithm_find(uint32_t algorithm);
