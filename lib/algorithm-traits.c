/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the programs outside the learner need to know of algorithms. There is one row for each algorithm;
 * and one for each key that not all algorithms read, so that a key that would do nothing is refused where
 * it is written. */
#include "lib/algorithm-traits.h"

#include <assert.h>
#include <stddef.h>

#include "lib/fragment.h"

#define BIT(name)     (UINT32_C(1) << ALGORITHM_##name)
#define REPLAYS       (BIT(DQN) | CONTINUOUS)
#define CONTINUOUS    (BIT(DDPG) | BIT(TD3) | BIT(SAC))
#define ACTOR_CRITICS (BIT(PPO) | BIT(A2C) | BIT(IMPALA) | BIT(IMPACT))

static_assert(_ALGORITHM_MAX <= 32, "one bit each");

static const AlgorithmRow rows[_ALGORITHM_MAX] = {
        [ALGORITHM_PPO] = { .store = STORE_ROLLOUT },
        /* A3C is the asynchronous form of A2C and has no row of its own: A2C accepts stale rollouts. */
        [ALGORITHM_A2C] = { .store = STORE_ROLLOUT, .stale = true },
        [ALGORITHM_IMPALA] = { .store = STORE_ROLLOUT, .stale = true },
        [ALGORITHM_IMPACT] = { .store = STORE_BUFFER, .target = true, .stale = true },
        [ALGORITHM_DQN] = { .store = STORE_REPLAY, .target = true, .stale = true, .acting = ACTING_VALUES },
        [ALGORITHM_DDPG] = { .store = STORE_REPLAY,
                        .target = true,
                        .stale = true,
                        .acting = ACTING_DETERMINISTIC,
                        .n_critics = 1 },
        [ALGORITHM_TD3] = { .store = STORE_REPLAY,
                        .target = true,
                        .stale = true,
                        .acting = ACTING_DETERMINISTIC,
                        .n_critics = 2 },
        [ALGORITHM_SAC] = { .store = STORE_REPLAY,
                        .stale = true,
                        .acting = ACTING_SQUASHED,
                        .n_critics = 2 },
};

static const struct {
        Setting setting;
        uint32_t algorithms;
} uses[] = {
        { SETTING_Learner_Epochs, BIT(PPO) | BIT(IMPACT) },
        { SETTING_Learner_MinibatchSize, BIT(PPO) | BIT(IMPALA) | BIT(IMPACT) | REPLAYS },
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
        { SETTING_Learner_TargetInterval, BIT(IMPACT) | BIT(DQN) },
        { SETTING_Learner_ValueWeight, ACTOR_CRITICS },
        { SETTING_Learner_EntropyWeight, ACTOR_CRITICS },
        { SETTING_Learner_NormalizeAdvantages, ACTOR_CRITICS },
        { SETTING_Learner_NormalizeObservations, ACTOR_CRITICS },
        { SETTING_Learner_ObservationClip, ACTOR_CRITICS },
        { SETTING_Learner_NormalizeRewards, ACTOR_CRITICS },
        { SETTING_Learner_RewardClip, ACTOR_CRITICS },
        { SETTING_Learner_SharedNetwork, ACTOR_CRITICS },
        { SETTING_Learner_LogStdInit, ACTOR_CRITICS },
        { SETTING_Learner_Curvature, ACTOR_CRITICS },
        { SETTING_Learner_CurvatureRows, ACTOR_CRITICS },
        { SETTING_Learner_CurvatureSteps, ACTOR_CRITICS },
        { SETTING_Learner_NoiseScale, ACTOR_CRITICS },
        { SETTING_Learner_NoiseActors, ACTOR_CRITICS },
        { SETTING_Learner_ReplaySize, REPLAYS },
        { SETTING_Learner_ReplayMin, REPLAYS },
        { SETTING_Learner_TrainRatio, REPLAYS },
        { SETTING_Learner_NSteps, REPLAYS },
        { SETTING_Learner_HuberBound, BIT(DQN) },
        { SETTING_Learner_EpsilonStart, BIT(DQN) },
        { SETTING_Learner_EpsilonEnd, BIT(DQN) },
        { SETTING_Learner_EpsilonSteps, BIT(DQN) },
        { SETTING_Learner_CriticLearningRate, CONTINUOUS },
        { SETTING_Learner_Tau, CONTINUOUS },
        { SETTING_Learner_PolicyDelay, BIT(DDPG) | BIT(TD3) },
        { SETTING_Learner_ActionNoise, BIT(DDPG) | BIT(TD3) },
        { SETTING_Learner_TargetNoise, BIT(TD3) },
        { SETTING_Learner_NoiseClip, BIT(TD3) },
        { SETTING_Learner_Temperature, BIT(SAC) },
        { SETTING_Learner_TargetEntropy, BIT(SAC) },
        { SETTING_Learner_Convolutions, ACTOR_CRITICS | BIT(DQN) },
};

const AlgorithmRow *algorithm_row(uint32_t algorithm) {
        assert(algorithm < _ALGORITHM_MAX);

        return &rows[algorithm];
}

uint64_t algorithm_replay_steps(const JobSettings *settings) {
        return settings->replay_size / ((uint64_t) settings_actors_max(settings) * settings->envs_per_actor);
}

uint64_t algorithm_store_bytes(const JobSettings *settings, uint64_t observation_bytes, uint32_t frames,
                uint64_t n_action) {
        uint64_t slots = (uint64_t) settings_actors_max(settings) * settings->envs_per_actor;
        uint64_t n_rows = 0, row_bytes = 0, n;

        /* Rows do not overflow: slots, steps and rounds have at most 24, 20 and 6 bits. */
        switch ((Store) algorithm_row(settings->algorithm)->store) {
        case STORE_ROLLOUT: break;
        case STORE_BUFFER: /* observations, actions, rewards, probabilities, ends */
                slots = (uint64_t) distribution_rollouts(
                                        distribution_of(settings), settings_actors_max(settings)) *
                        settings->envs_per_actor;
                n_rows = settings->buffer_batches * slots * (settings->rollout_steps + (uint64_t) frames);
                row_bytes = observation_bytes / frames + 4 * n_action + 9;
                break;
        case STORE_REPLAY: /* observations before and after, actions, rewards, ends */
                n_rows = slots * (algorithm_replay_steps(settings) + frames - 1);
                row_bytes = 2 * (observation_bytes / frames) + 5;
                row_bytes += algorithm_row(settings->algorithm)->acting == ACTING_VALUES ? 4 : 4 * n_action;
                break;
        }
        return __builtin_mul_overflow(n_rows, row_bytes, &n) ? UINT64_MAX : n;
}

uint32_t algorithm_epochs(const JobSettings *settings) {
        assert(settings);

        return algorithm_uses(settings->algorithm, SETTING_Learner_Epochs) ? settings->epochs : 1;
}

double algorithm_passes(const JobSettings *settings) {
        assert(settings);

        if (algorithm_row(settings->algorithm)->store == STORE_REPLAY)
                return settings->train_ratio * settings->minibatch_size;
        return algorithm_epochs(settings);
}

bool algorithm_uses(uint32_t algorithm, Setting setting) {
        assert(algorithm < _ALGORITHM_MAX);

        for (size_t i = 0; i < sizeof(uses) / sizeof(uses[0]); i++)
                if (uses[i].setting == setting)
                        return uses[i].algorithms >> algorithm & 1;
        return true;
}
