/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* "Physics-Regulated Deep Reinforcement Learning: Invariant Embeddings" (Cao, Mao, Sha and Caccamo, ICLR
 * 2024): what their policy learns beside a linear controller, from a reward that is made of an envelope.
 * Controller and reward act where steps are made (lib/regulation.h); the learning is DDPG (Lillicrap et al.
 * 2016) with noise on the action that targets are made of, as in their published code. */
#include "learner/algorithm/critics.h"

static void phydrl_target(Tape *t, const void *arg) {
        critics_target(t, critics_value(t, NET_CRITIC_TARGET, critics_smoothed_action(t, arg)));
}

static int phydrl_step(Runtime *runtime, uint32_t draw, CriticSteps *steps) {
        const Smoothed smoothed = critics_smoothed(runtime);
        Rows rows = runtime_replay(runtime, draw, runtime_settings(runtime)->gamma);

        runtime_targets(runtime, rows, phydrl_target, &smoothed);
        return critics_move_all(runtime, rows, 1, steps);
}

static int phydrl_learn(Runtime *runtime) {
        CriticSteps steps;

        return critics_learn(runtime, phydrl_step, &steps);
}

const Algorithm algorithm_PHYDRL = {
        .name = "phydrl",
        .learn = phydrl_learn,
        .epsilon = critics_epsilon,
        .possible = critics_possible,
};
