/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* PI-FT: "Stochastic Control for Fine-tuning Diffusion Models: Optimality, Regularity, and Convergence"
 * (Han, Razaviyayn & Xu, ICML 2025). The passes of a diffusion are a control problem: each chooses F, pays
 * its divergence from the pre-trained F' there, and the action at the end earns its value. The policy goes
 * on from that of a diffusion-ql job (--from), whose target is F', and descends the mean of
 *
 *   sum over passes i of beta_i / (2 alpha_i (1 - abar_i)) |F(s, x_i, i) - F'(s, x_i, i)|^2
 *
 * beside the critics' loss, so that 1 / Eta= is the paper's beta.
 *
 * An iteration of the paper sets each F to F' minus a multiple of the mean gradient of what follows pass i
 * under the last iteration's F. Here F moves towards that by one gradient step. The gradient of half the
 * squared distance to that, times the pass's weight, is the gradient of the sum above through the passes. */
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
        .epsilon = generative_epsilon,
        .possible = generative_possible,
};
