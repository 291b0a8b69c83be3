/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of algorithms. */
#include "learner/algorithm/algorithm.h"

#include <stddef.h>

const Algorithm *algorithm_find(uint32_t algorithm) {
        static const Algorithm *const table[_ALGORITHM_MAX] = {
                [ALGORITHM_PPO] = &algorithm_ppo,
                [ALGORITHM_A2C] = &algorithm_a2c,
                [ALGORITHM_IMPALA] = &algorithm_impala,
                [ALGORITHM_IMPACT] = &algorithm_impact,
                [ALGORITHM_DQN] = &algorithm_dqn,
        };

        return algorithm < _ALGORITHM_MAX ? table[algorithm] : NULL;
}
