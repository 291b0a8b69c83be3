/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* PI-FT: "Stochastic Control for Fine-tuning Diffusion Models: Optimality, Regularity, and Convergence"
 * (Han, Razaviyayn & Xu, ICML 2025). The passes of a diffusion are a control problem. Let F be the policy's
 * network, and F' the pre-trained one. In each pass F chooses, and pays for its divergence from F'; the
 * final action earns its value. The policy goes on from that of a diffusion-ql job (--from). F' is the
 * target network of that job. The policy minimises the mean of
 *
 *   sum over passes i of beta_i / (2 alpha_i (1 - abar_i)) |F(s, x_i, i) - F'(s, x_i, i)|^2
 *
 * beside the critics' loss. s is the state, x_i the noisy action before pass i; lib/sampler.h has the other
 * constants. So 1 / Eta= is the paper's beta.
 *
 * An iteration of the paper sets each F to a goal: F' minus a multiple of the mean gradient of all that
 * follows pass i under the last iteration's F. Here F moves towards this goal by one gradient step. The
 * gradient of the sum above, through the passes, equals the gradient of the squared distance to the goal,
 * times the pass's weight. */
#include "learner/algorithm/generative.h"

static Node divergence(Tape *t, const Generator *g, const Sample *sampled) {
        (void) t;
        (void) g;
        return sampled->divergence;
}

static int pi_ft_step(Runtime *runtime, uint32_t draw, CriticSteps *steps) {
        Generator generator = {
                .policy = runtime_policy(runtime),
                .distance = divergence,
                .diverges = true,
                .teacher = NET_POLICY,
        };

        return generative_step(runtime, draw, &generator, steps);
}

static int pi_ft_learn(Runtime *runtime) {
        CriticSteps steps;

        return critics_learn(runtime, pi_ft_step, &steps);
}

const Algorithm algorithm_PI_FT = {
        .name = "pi-ft",
        .learn = pi_ft_learn,
        .possible = generative_possible,
};
