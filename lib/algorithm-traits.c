/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The facts about algorithms that programs outside of the learner need. Each algorithm has a row. If only
 * some algorithms read a key, the key has a row, too, so that `verify` refuses a key that would have no
 * effect. */
#include "lib/algorithm-traits.h"

#include <assert.h>
#include <stddef.h>

#include "include/policy.h"

#define BIT(name)  (UINT32_C(1) << ALGORITHM_##name)
#define REPLAYS    (BIT(DQN) | CONTINUOUS | OFFLINE)
#define CONTINUOUS (BIT(DDPG) | BIT(TD3) | BIT(SAC) | BIT(PHYDRL))
#define REGULATED  (BIT(PPO) | BIT(DDPG) | BIT(TD3) | BIT(PHYDRL)) /* may act together with a controller */
/* algorithms whose policy makes actions out of noise */
#define GENERATIVE    (BIT(CONSISTENCY) | BIT(DIFFUSION_QL) | BIT(PI_FT))
#define OFFLINE       (BIT(BC) | BIT(TD3_BC) | GENERATIVE)
#define COMPANIES     (BIT(SIMPPO) | BIT(MAPPO)) /* an agent's input includes data about the other agents */
#define PROXIMAL      (BIT(PPO) | COMPANIES)
#define ACTOR_CRITICS (PROXIMAL | BIT(A2C) | BIT(IMPALA) | BIT(IMPACT))
#define ON_POLICY     (ACTOR_CRITICS | BIT(REBEL))

static_assert(_ALGORITHM_MAX <= 32, "one bit each");

#define THE_POLICY(follow) \
        { .name = "policy", .reads = READS_OBSERVATION, .n = 1, .passes = 1, .follows = (follow) }
/* A policy that makes an action in passes (lib/sampler.h). A loss may apply its network once for each pass,
 * and `more` further times. */
#define THE_DENOISER(more, how)                                                                      \
        {                                                                                            \
                .name = "policy", .reads = READS_OBSERVATION, .n = 1, .passes = PASSES_MAX + (more), \
                .follows = (how)                                                                     \
        }
/* An ensemble of critics. Each critic estimates the value of an action. */
#define CRITICS(members)                                                                       \
        {                                                                                      \
                .name = "critic", .layers = "q", .reads = READS_OBSERVATION | READS_ACTION,    \
                .tells = OUTPUT_VALUE, .n = (members), .passes = 1, .follows = FOLLOWS_AVERAGE \
        }

/* clang-format off */
static const AlgorithmRow rows[_ALGORITHM_MAX] = {
        [ALGORITHM_PPO] = { .store = STORE_ROLLOUT, .networks = { THE_POLICY(FOLLOWS_NONE) } },
        /* A3C, the asynchronous form of A2C, needs no row of its own: A2C accepts stale rollouts. */
        [ALGORITHM_A2C] = { .store = STORE_ROLLOUT, .stale = true,
                            .networks = { THE_POLICY(FOLLOWS_NONE) } },
        [ALGORITHM_IMPALA] = { .store = STORE_ROLLOUT, .stale = true,
                               .networks = { THE_POLICY(FOLLOWS_NONE) } },
        [ALGORITHM_IMPACT] = { .store = STORE_BUFFER, .stale = true,
                               .networks = { THE_POLICY(FOLLOWS_COPY) } },
        [ALGORITHM_DQN] = { .store = STORE_REPLAY, .stale = true, .acting = ACTING_VALUES,
                            .networks = { THE_POLICY(FOLLOWS_COPY) } },
        [ALGORITHM_DDPG] = { .store = STORE_REPLAY, .stale = true, .acting = ACTING_DETERMINISTIC,
                             .networks = { THE_POLICY(FOLLOWS_AVERAGE), CRITICS(1) } },
        [ALGORITHM_TD3] = { .store = STORE_REPLAY, .stale = true, .acting = ACTING_DETERMINISTIC,
                            .networks = { THE_POLICY(FOLLOWS_AVERAGE), CRITICS(2) } },
        [ALGORITHM_SAC] = { .store = STORE_REPLAY, .stale = true, .acting = ACTING_SQUASHED,
                            .networks = { THE_POLICY(FOLLOWS_NONE), CRITICS(2) } },
        [ALGORITHM_REBEL] = { .store = STORE_ROLLOUT, .pairs = true, .no_value = true,
                              .networks = { THE_POLICY(FOLLOWS_NONE) } },
        [ALGORITHM_BC] = { .store = STORE_REPLAY, .stale = true, .offline = true,
                           .no_value = true, .networks = { THE_POLICY(FOLLOWS_NONE) } },
        [ALGORITHM_TD3_BC] = { .store = STORE_REPLAY, .stale = true, .offline = true,
                               .acting = ACTING_DETERMINISTIC,
                               .networks = { THE_POLICY(FOLLOWS_AVERAGE), CRITICS(2) } },
        [ALGORITHM_PHYDRL] = { .store = STORE_REPLAY, .stale = true, .regulated = true,
                               .acting = ACTING_DETERMINISTIC,
                               .networks = { THE_POLICY(FOLLOWS_AVERAGE), CRITICS(1) } },
        [ALGORITHM_SIMPPO] = { .store = STORE_ROLLOUT, .company = COMPANY_MEANS,
                               .networks = { THE_POLICY(FOLLOWS_NONE) } },
        [ALGORITHM_MAPPO] = { .store = STORE_ROLLOUT, .company = COMPANY_ALL,
                              .networks = { THE_POLICY(FOLLOWS_NONE) } },
        [ALGORITHM_CONSISTENCY] = { .store = STORE_REPLAY, .stale = true, .offline = true, .online = true,
                                    .acting = ACTING_CONSISTENCY, .acting_passes = 2,
                                    .networks = { THE_DENOISER(2, FOLLOWS_AVERAGE), CRITICS(2) } },
        [ALGORITHM_DIFFUSION_QL] = { .store = STORE_REPLAY, .stale = true, .offline = true, .online = true,
                                     .acting = ACTING_DIFFUSION, .acting_passes = 5,
                                     .networks = { THE_DENOISER(2, FOLLOWS_AVERAGE), CRITICS(2) } },
        [ALGORITHM_PI_FT] = { .store = STORE_REPLAY, .stale = true, .offline = true, .online = true,
                              .acting = ACTING_DIFFUSION, .acting_passes = 5,
                              .networks = { THE_DENOISER(PASSES_MAX, FOLLOWS_NEVER), CRITICS(2) } },
};
/* clang-format on */

static const struct {
        Setting setting;
        uint32_t algorithms;
} uses[] = {
        { SETTING_Learner_Epochs, PROXIMAL | BIT(IMPACT) | BIT(REBEL) },
        { SETTING_Learner_MinibatchSize, PROXIMAL | BIT(IMPALA) | BIT(IMPACT) | REPLAYS },
        { SETTING_Learner_Updates, PROXIMAL | BIT(IMPALA) | BIT(IMPACT) },
        { SETTING_Learner_Lambda, PROXIMAL | BIT(A2C) },
        { SETTING_Learner_Clip, PROXIMAL | BIT(IMPACT) },
        { SETTING_Learner_ClipSchedule, PROXIMAL | BIT(IMPACT) },
        { SETTING_Learner_ValueClip, PROXIMAL },
        { SETTING_Learner_KLStop, PROXIMAL },
        { SETTING_Learner_KLWeight, PROXIMAL },
        { SETTING_Learner_KLTarget, PROXIMAL },
        { SETTING_Learner_RhoBar, BIT(IMPALA) | BIT(IMPACT) },
        { SETTING_Learner_CBar, BIT(IMPALA) | BIT(IMPACT) },
        { SETTING_Learner_BufferBatches, BIT(IMPACT) },
        { SETTING_Learner_TargetInterval, BIT(IMPACT) | BIT(DQN) },
        { SETTING_Learner_ValueWeight, ACTOR_CRITICS },
        { SETTING_Learner_EntropyWeight, ACTOR_CRITICS },
        { SETTING_Learner_NormalizeAdvantages, ACTOR_CRITICS },
        { SETTING_Learner_NormalizeObservations, ON_POLICY | OFFLINE },
        { SETTING_Learner_ObservationClip, ON_POLICY | OFFLINE },
        { SETTING_Learner_NormalizeRewards, ACTOR_CRITICS },
        { SETTING_Learner_RewardClip, ACTOR_CRITICS },
        { SETTING_Learner_SharedNetwork, ACTOR_CRITICS & ~BIT(MAPPO) },
        { SETTING_Learner_LogStdInit, ON_POLICY | BIT(BC) },
        { SETTING_Learner_Curvature, ACTOR_CRITICS },
        { SETTING_Learner_CurvatureRows, ACTOR_CRITICS },
        { SETTING_Learner_CurvatureSteps, ACTOR_CRITICS },
        { SETTING_Learner_NoiseScale, ACTOR_CRITICS },
        { SETTING_Learner_NoiseActors, ACTOR_CRITICS },
        { SETTING_Learner_ReplaySize, REPLAYS },
        { SETTING_Learner_ReplayMin, REPLAYS },
        { SETTING_Learner_TrainRatio, REPLAYS },
        { SETTING_Learner_NSteps, BIT(DQN) | CONTINUOUS | BIT(TD3_BC) | GENERATIVE },
        { SETTING_Learner_HuberBound, BIT(DQN) },
        { SETTING_Learner_EpsilonStart, BIT(DQN) | GENERATIVE },
        { SETTING_Learner_EpsilonEnd, BIT(DQN) | GENERATIVE },
        { SETTING_Learner_EpsilonSteps, BIT(DQN) | GENERATIVE },
        { SETTING_Learner_CriticLearningRate, CONTINUOUS | BIT(TD3_BC) | GENERATIVE },
        { SETTING_Learner_Tau, CONTINUOUS | BIT(TD3_BC) | GENERATIVE },
        { SETTING_Learner_PolicyDelay, BIT(DDPG) | BIT(TD3) | BIT(PHYDRL) | BIT(TD3_BC) },
        { SETTING_Learner_ActionNoise, BIT(DDPG) | BIT(TD3) | BIT(PHYDRL) },
        { SETTING_Learner_NoiseProcess, BIT(DDPG) },
        { SETTING_Learner_InputAugmentation, BIT(DDPG) | BIT(TD3) | BIT(PHYDRL) },
        { SETTING_Learner_LinkEditing, BIT(DDPG) | BIT(TD3) | BIT(PHYDRL) },
        { SETTING_Learner_PolicyInputAugmentation, BIT(DDPG) | BIT(TD3) | BIT(PHYDRL) },
        { SETTING_Learner_PolicyLinkEditing, BIT(DDPG) | BIT(TD3) | BIT(PHYDRL) },
        { SETTING_Learner_TargetNoise, BIT(TD3) | BIT(PHYDRL) | BIT(TD3_BC) },
        { SETTING_Learner_NoiseClip, BIT(TD3) | BIT(PHYDRL) | BIT(TD3_BC) },
        { SETTING_Learner_Temperature, BIT(SAC) },
        { SETTING_Learner_TargetEntropy, BIT(SAC) },
        { SETTING_Actor_PairSteps, BIT(REBEL) },
        { SETTING_Learner_Eta, BIT(REBEL) | GENERATIVE },
        { SETTING_Learner_Dataset, OFFLINE },
        { SETTING_Learner_QWeight, BIT(TD3_BC) },
        { SETTING_Learner_Passes, GENERATIVE },
        { SETTING_Learner_Candidates, GENERATIVE },
        { SETTING_Learner_ModelA, REGULATED },
        { SETTING_Learner_ModelB, REGULATED },
        { SETTING_Learner_ControllerF, REGULATED },
        { SETTING_Learner_ControllerGain, REGULATED },
        { SETTING_Learner_EnvelopeP, REGULATED },
        { SETTING_Learner_Alpha, REGULATED },
        { SETTING_Learner_SafetySet, REGULATED },
        { SETTING_Learner_ResidualScale, REGULATED & ~BIT(PPO) },
        { SETTING_Learner_Convolutions, (ON_POLICY & ~COMPANIES) | BIT(DQN) },
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
