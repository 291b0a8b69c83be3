/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The loss of actor-critic methods without a surrogate, and a gradient step on it. */
#include "learner/algorithm/policy-gradient.h"

static void policy_gradient_loss(Tape *t, const void *arg) {
        const ActorCriticWeights *weights = arg;
        Node advantage = actor_critic_advantage(t, weights->advantage);
        Node policy = tape_multiply(t, advantage, tape_term(t, TERM_LOG_PROBABILITY));

        actor_critic_loss(t, weights, policy, actor_critic_value_loss(t));
}

void policy_gradient_plain(Runtime *runtime, Tape *tape) {
        ActorCriticWeights weights = actor_critic_weights(runtime);

        policy_gradient_loss(tape, &weights);
}

void policy_gradient_noise(Runtime *runtime) {
        ActorCriticWeights weights = actor_critic_weights(runtime);

        if (!settings_noise_scale(runtime_settings(runtime)))
                return;
        weights.advantage = runtime_advantage_scale(runtime, runtime_rows(runtime));
        runtime_statistics(runtime)->noise_scale =
                        runtime_noise_scale(runtime, NET_POLICY, policy_gradient_loss, &weights);
}

int policy_gradient_step(Runtime *runtime, Rows rows, double rate, ActorCriticTotal *total) {
        ActorCriticWeights weights = actor_critic_weights(runtime);
        double sums[_ACTOR_CRITIC_SUM_MAX] = {};
        int r;

        weights.advantage = runtime_advantage_scale(runtime, rows);
        r = runtime_gradient(runtime, NET_POLICY, rows, policy_gradient_loss, &weights, sums,
                        _ACTOR_CRITIC_SUM_MAX);
        if (r < 0)
                return r;
        return actor_critic_apply(runtime, rate, sums, total);
}
