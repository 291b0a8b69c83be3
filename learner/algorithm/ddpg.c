/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* "Continuous control with deep reinforcement learning" (Lillicrap et al. 2016): a policy that outputs one
 * action, a critic that estimates the action's value, and copies of both that follow slowly and make the
 * targets. The critic minimises the mean of (Q(s, a) - r - gamma Q'(s', mu'(s')))^2 (their algorithm 1), and
 * the policy maximises Q(s, mu(s)) by (6). */
#include "learner/algorithm/critics.h"

static void ddpg_target(Tape *t, const void *arg) {
        Node policy = critics_policy(t, NET_TARGET);
        Node action = critics_action(t, arg, tape_output(t, policy, OUTPUT_ACTION));

        critics_target(t, critics_value(t, NET_CRITIC_TARGET, critics_joined(t, action)));
}

static int ddpg_step(Runtime *runtime, uint32_t draw, CriticSteps *steps) {
        Rows rows = runtime_replay(runtime, draw, runtime_settings(runtime)->gamma);

        runtime_targets(runtime, rows, ddpg_target, runtime_policy(runtime));
        return critics_move_all(runtime, rows, 1, steps);
}

static int ddpg_learn(Runtime *runtime) {
        CriticSteps steps;

        return critics_learn(runtime, ddpg_step, &steps);
}

const Algorithm algorithm_DDPG = {
        .name = "ddpg",
        .learn = ddpg_learn,
        .possible = critics_possible,
};
