/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The advantage actor-critic of "Asynchronous Methods for Deep Reinforcement Learning" (Mnih et al. 2016),
 * without the asynchrony: one gradient step on all rows of a round. With Lambda=1 the targets are the
 * paper's n-step returns. The optimiser is Adam. The paper uses RMSProp; Adam with AdamBeta1=0 is RMSProp
 * with a bias correction. */

#include "learner/algorithm/algorithm.h"
#include "learner/algorithm/policy-gradient.h"

static int a2c_learn(Runtime *runtime) {
        const JobSettings *s = runtime_settings(runtime);
        double rate = runtime_scheduled(runtime, s->learning_rate, s->learning_rate_schedule);
        ActorCriticTotal total = {};
        int r;

        runtime_recompute(runtime, NET_POLICY);
        runtime_advantage(runtime, s->gamma, s->lambda);

        policy_gradient_noise(runtime);
        r = policy_gradient_step(runtime, runtime_rows(runtime), rate, &total);
        if (r < 0)
                return r;

        actor_critic_report(runtime, &total, rate);
        return 0;
}

const Algorithm algorithm_A2C = {
        .name = "a2c",
        .learn = a2c_learn,
        .loss = policy_gradient_plain,
};
