/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* "IMPALA: Scalable Distributed Deep-RL with Importance Weighted Actor-Learner Architectures" (Espeholt et
 * al. 2018): one pass over the actors' rollouts, even if old policies acted. V-trace weighs the rollouts by
 * the current policy's probabilities divided by the stored ones. So the weights are computed again before
 * each gradient step. */

#include "learner/algorithm/algorithm.h"
#include "learner/algorithm/policy-gradient.h"

static int impala_learn(Runtime *runtime) {
        const JobSettings *s = runtime_settings(runtime);
        double rate = runtime_scheduled(runtime, s->learning_rate, s->learning_rate_schedule);
        ActorCriticTotal total = {};
        Rows rows;
        int r;

        if (settings_noise_scale(s)) {
                runtime_recompute(runtime, NET_POLICY);
                runtime_vtrace(runtime, s->gamma, s->rho_bar, s->c_bar);
                policy_gradient_noise(runtime);
        }

        for (uint32_t k = 0; (rows = runtime_sample(runtime, 0, k)).n > 0; k++) {
                runtime_recompute(runtime, NET_POLICY);
                runtime_vtrace(runtime, s->gamma, s->rho_bar, s->c_bar);
                r = policy_gradient_step(runtime, rows, rate, &total);
                if (r < 0)
                        return r;
        }

        actor_critic_report(runtime, &total, rate);
        return 0;
}

const Algorithm algorithm_IMPALA = {
        .name = "impala",
        .learn = impala_learn,
        .loss = policy_gradient_plain,
};
