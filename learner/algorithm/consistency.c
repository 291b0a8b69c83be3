/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* "Consistency Models as a Rich and Efficient Policy Class for Reinforcement Learning" (Ding & Jin, ICLR
 * 2024): a policy that makes an action from noise in Passes= passes. With recorded episodes, it descends
 *
 *   mean of 100 / (t' - t) |f(s, a + t' z, t') - f_ema(s, a + t z, t)|^2
 *
 * beside the critics' loss. Here t and t' are neighbouring boundaries, z is the same noise in both, and
 * f_ema is the policy's target. The number of boundaries grows during training. Without recorded episodes,
 * the policy follows the critics alone. Critics learn as in TD3, from actions that the target samples. */
#include "learner/algorithm/generative.h"

/* 200 instead of the formula's 100, since the code multiplies it by half of the squared distance. */
#define DISTANCE_WEIGHT 200.0

/* Computes the consistency function f ("Consistency Models", Song et al. 2023) of a recorded action with the
 * row's noise. moment: 0 at the later of the row's two noise times, 1 at the earlier. */
static Node denoised(Tape *t, Net net, const Network *policy, Node recorded, uint32_t moment) {
        const uint32_t n = policy->n_action;
        Node x = generative_noised(t, policy, recorded, moment);
        Node f = generative_network(t, net, policy, x, moment);

        return tape_add(t, tape_multiply(t, generative_number(t, moment, MOMENT_SKIP, n), x),
                        tape_multiply(t, generative_number(t, moment, MOMENT_OUT, n), f));
}

static Node consistency_distance(Tape *t, const Generator *g, const Sample *sampled) {
        Node recorded = generative_recorded(t, g->policy);
        Node said = denoised(t, NET_POLICY, g->policy, recorded, 0);
        Node wanted = denoised(t, NET_TARGET, g->policy, recorded, 1);
        Node apart = tape_total(t, tape_half_square(t, tape_subtract(t, said, wanted)));
        Node inverse = tape_input_part(t, INPUT_MOMENTS, 2 * MOMENT_NUMBERS, 1);

        (void) sampled;
        return tape_scale(t, tape_multiply(t, apart, inverse), DISTANCE_WEIGHT);
}

static int consistency_step(Runtime *runtime, uint32_t draw, CriticSteps *steps) {
        const JobSettings *s = runtime_settings(runtime);
        double all = (double) s->stop_steps * s->train_ratio;
        Generator generator = {
                .policy = runtime_policy(runtime),
                .distance = s->dataset[0] ? consistency_distance : NULL,
                .teacher = NET_TARGET,
        };

        runtime_boundaries(runtime, sampler_boundaries(runtime_state(runtime)[GENERATIVE_TAKEN] / all));
        return generative_step(runtime, draw, &generator, steps);
}

static int consistency_learn(Runtime *runtime) {
        CriticSteps steps;

        return critics_learn(runtime, consistency_step, &steps);
}

const Algorithm algorithm_CONSISTENCY = {
        .name = "consistency",
        .learn = consistency_learn,
        .possible = generative_possible,
};
