/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One row for each algorithm; and one for each key that not all algorithms read, so that a key that would do nothing is refused where it
 * is written. */
#include "lib/algorithms.h"

#include <assert.h>
#include <stddef.h>

#define BIT(name) (UINT32_C(1) << ALGORITHM_##name)

static_assert(_ALGORITHM_MAX <= 32, "one bit each");

static const AlgorithmRow rows[_ALGORITHM_MAX] = {
        [ALGORITHM_PPO] = { STORE_ROLLOUT, false },
        [ALGORITHM_A2C] = { STORE_ROLLOUT, false },
        [ALGORITHM_IMPALA] = { STORE_ROLLOUT, false },
        [ALGORITHM_IMPACT] = { STORE_BUFFER, true },
};

static const struct {
        Setting setting;
        uint32_t algorithms;
} uses[] = {
        { SETTING_Learner_Epochs, BIT(PPO) | BIT(IMPACT) },
        { SETTING_Learner_MinibatchSize, BIT(PPO) | BIT(IMPALA) | BIT(IMPACT) },
        { SETTING_Learner_Updates, BIT(PPO) | BIT(IMPALA) | BIT(IMPACT) },
        { SETTING_Learner_Lambda, BIT(PPO) | BIT(A2C) },
        { SETTING_Learner_Clip, BIT(PPO) | BIT(IMPACT) },
        { SETTING_Learner_ClipSchedule, BIT(PPO) | BIT(IMPACT) },
        { SETTING_Learner_ValueClip, BIT(PPO) },
        { SETTING_Learner_KLStop, BIT(PPO) },
        { SETTING_Learner_KLWeight, BIT(PPO) },
        { SETTING_Learner_KLTarget, BIT(PPO) },
        { SETTING_Learner_RhoBar, BIT(IMPALA) | BIT(IMPACT) },
        { SETTING_Learner_CBar, BIT(IMPALA) | BIT(IMPACT) },
        { SETTING_Learner_BufferBatches, BIT(IMPACT) },
        { SETTING_Learner_TargetInterval, BIT(IMPACT) },
};

const AlgorithmRow *algorithm_row(uint32_t algorithm) {
        assert(algorithm < _ALGORITHM_MAX);

        return &rows[algorithm];
}

bool algorithm_uses(uint32_t algorithm, Setting setting) {
        assert(algorithm < _ALGORITHM_MAX);

        for (size_t i = 0; i < sizeof(uses) / sizeof(uses[0]); i++)
                if (uses[i].setting == setting)
                        return uses[i].algorithms >> algorithm & 1;
        return true;
}
