/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Diffusion-QL: "Diffusion Policies as an Expressive Policy Class for Offline Reinforcement Learning" (Wang,
 * Hunt & Zhou, ICLR 2023): a policy that makes an action from noise in Passes= steps of a diffusion. With
 * recorded episodes, it descends
 *
 *   mean of |z - F(s, sqrt(abar_i) a + sqrt(1 - abar_i) z, i)|^2
 *
 * beside the critics' loss: (1) and (3) of the paper. Here F is the policy's network, s the observation, a
 * the recorded action, z normal noise, and i a random step. abar_i says how much of a is left at step i
 * (lib/sampler.h). The mean is over the numbers of an action, too. Without recorded episodes, the policy
 * follows the critics alone. Critics learn as in TD3, from actions that the target samples (2). */
#include "learner/algorithm/generative.h"

static Node diffusion_distance(Tape *t, const Generator *g, const Sample *sampled) {
        const uint32_t n = g->policy->n_action;
        Node noised = generative_noised(t, g->policy, generative_recorded(t, g->policy), 0);
        Node f = generative_network(t, NET_POLICY, g->policy, noised, 0);
        Node apart = tape_subtract(t, f, tape_input_part(t, INPUT_NORMAL, 0, n));

        (void) sampled;
        return tape_scale(t, tape_total(t, tape_half_square(t, apart)), 2.0 / n);
}

static int diffusion_ql_step(Runtime *runtime, uint32_t draw, CriticSteps *steps) {
        Generator generator = {
                .policy = runtime_policy(runtime),
                .distance = runtime_settings(runtime)->dataset[0] ? diffusion_distance : NULL,
                .teacher = NET_TARGET,
        };

        return generative_step(runtime, draw, &generator, steps);
}

static int diffusion_ql_learn(Runtime *runtime) {
        CriticSteps steps;

        return critics_learn(runtime, diffusion_ql_step, &steps);
}

const Algorithm algorithm_DIFFUSION_QL = {
        .name = "diffusion-ql",
        .learn = diffusion_ql_learn,
        .possible = generative_possible,
};
