/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An algorithm is one file: this row, and learn() over the verbs of learner/runtime.h. A row of
 * lib/algorithm-traits.c says how it acts, what it keeps and which keys it reads: that row stands in lib/
 * because the daemon and actorctl read it too. */
#pragma once

#include <stdbool.h>

#include "learner/runtime.h"

typedef struct Algorithm {
        const char *name;
        void (*init)(const JobSettings *settings,
                        double state[ALGORITHM_STATE_MAX]); /* before the first round; may be NULL */
        int (*learn)(Runtime *runtime);                     /* 0; -ERANGE: something is not finite */
        /* Records its loss as it was when the round ended, for advantages that are normalised already; NULL:
         * the curvature of the loss is not measured. */
        void (*loss)(Runtime *runtime, Tape *tape);
        /* The chance of a random action for the next round's actors, after n_env_steps and with n_windows
         * to draw from a replay store; NULL: only the policy's distribution is random. */
        double (*epsilon)(const JobSettings *settings, uint64_t n_env_steps, uint64_t n_windows);
        /* Whether finite numbers out of a file can be its state; NULL: any can. */
        bool (*possible)(const double state[ALGORITHM_STATE_MAX]);
} Algorithm;

/* algorithm_NAME: one for each word of ALGORITHMS. */
#define X(name, word) extern const Algorithm algorithm_##name;
ALGORITHMS(X)
#undef X

/* By Algorithm_; NULL outside. */
const Algorithm *algorithm_find(uint32_t algorithm);
