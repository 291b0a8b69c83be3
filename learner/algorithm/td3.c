/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* "Addressing Function Approximation Error in Actor-Critic Methods" (Fujimoto et al. 2018), algorithm 1:
 * DDPG with two critics, whose lesser estimate makes targets (10); with noise on the action that targets
 * are made of (14); and a policy that moves after every PolicyDelay= steps of its critics. */
#include "learner/algorithm/critics.h"

enum { N_CRITICS = 2 };

typedef struct Td3Target {
        const Network *policy;
        double noise, noise_clip;
} Td3Target;

static void td3_target(Tape *t, const void *arg) {
        const Td3Target *p = arg;
        Node policy = tape_network(t, NET_TARGET, tape_input(t, INPUT_OBSERVATION));
        Node noise = tape_clamp(t, tape_scale(t, tape_input(t, INPUT_NORMAL), p->noise), -p->noise_clip,
                        p->noise_clip);
        Node share = tape_add(t, tape_output(t, policy, OUTPUT_ACTION), noise);
        Node joined = critics_joined(t, critics_action(t, p->policy, share));

        critics_target(t, tape_min(t, critics_value(t, NET_CRITIC_TARGET, joined),
                                          critics_value(t, NET_CRITIC_2_TARGET, joined)));
}

static int td3_step(Runtime *runtime, uint32_t draw, CriticSteps *steps) {
        const JobSettings *s = runtime_settings(runtime);
        Rows rows = runtime_replay(runtime, draw, s->gamma);
        Td3Target target = {
                .policy = runtime_policy(runtime),
                .noise = s->target_noise,
                .noise_clip = s->noise_clip,
        };
        double entropy;
        int r;

        runtime_targets(runtime, rows, td3_target, &target);
        r = critics_move(runtime, rows, N_CRITICS, steps);
        if (r < 0 || !critics_policy_due(runtime))
                return r;

        r = critics_move_policy(runtime, rows, critics_policy_loss, target.policy, steps, &entropy);
        if (r < 0)
                return r;
        critics_follow(runtime, N_CRITICS, true);
        return 0;
}

static int td3_learn(Runtime *runtime) {
        CriticSteps steps;

        return critics_learn(runtime, td3_step, &steps);
}

const Algorithm algorithm_TD3 = {
        .name = "td3",
        .learn = td3_learn,
        .epsilon = critics_epsilon,
        .possible = critics_possible,
};
