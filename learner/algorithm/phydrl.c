/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* "Physics-Regulated Deep Reinforcement Learning: Invariant Embeddings" (Cao, Mao, Sha and Caccamo, ICLR
 * 2024): a policy that learns together with a linear controller, from a reward that follows from an
 * envelope. Controller and reward are applied in the environment's steps (lib/regulation.h). The learning is
 * DDPG (Lillicrap et al. 2016) with noise on the target action, as in the authors' published code. */
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
        .possible = critics_possible,
};
