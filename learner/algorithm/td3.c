/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* "Addressing Function Approximation Error in Actor-Critic Methods" (Fujimoto et al. 2018), algorithm 1:
 * DDPG with two critics, where the smaller estimate makes the targets (10); with noise on the target action
 * (14); and with a policy that moves only after every PolicyDelay= steps of the critics. */
#include "learner/algorithm/critics.h"

enum { N_CRITICS = 2 };

static int td3_step(Runtime *runtime, uint32_t draw, CriticSteps *steps) {
        const JobSettings *s = runtime_settings(runtime);
        Rows rows = runtime_replay(runtime, draw, s->gamma);

        critics_smoothed_targets(runtime, rows);
        return critics_move_all(runtime, rows, N_CRITICS, steps);
}

static int td3_learn(Runtime *runtime) {
        CriticSteps steps;

        return critics_learn(runtime, td3_step, &steps);
}

const Algorithm algorithm_TD3 = {
        .name = "td3",
        .learn = td3_learn,
        .possible = critics_possible,
};
