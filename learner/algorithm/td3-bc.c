/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* "A Minimalist Approach to Offline Reinforcement Learning" (Fujimoto & Gu 2021): TD3 on recorded steps,
 * with a policy that stays near the recorded actions. It minimises the mean of (mu(s) - a)^2 - lambda Q(s,
 * mu(s)) (5). Here lambda is QWeight= / mean of |Q(s, mu(s))| over the minibatch, without a gradient, so
 * both terms are comparable for any size of rewards. For the difference, actions are scaled to the range
 * from -1 to 1. */
#include "learner/algorithm/critics.h"

enum { N_CRITICS = 2 };

typedef struct CloneLoss {
        const Network *policy;
        double lambda;
} CloneLoss;

/* The policy's action on the scale from -1 to 1. */
static Node share_of(Tape *t) {
        return tape_output(t, tape_network(t, NET_POLICY, tape_input(t, INPUT_OBSERVATION)), OUTPUT_ACTION);
}

static Node value_of(Tape *t, const Network *policy, Node share) {
        return critics_value(t, NET_CRITIC, critics_joined(t, critics_action(t, policy, share)));
}

/* Records the mean of |Q(s, mu(s))| as sum number 0 of the tape. The loss itself is 0. */
static void size_loss(Tape *t, const void *arg) {
        Node value = value_of(t, arg, share_of(t));

        tape_loss(t, value, 0.0);
        tape_sum(t, 0, tape_abs(t, value), 1.0);
}

static void clone_loss(Tape *t, const void *arg) {
        const CloneLoss *p = arg;
        double low = p->policy->action_low, high = p->policy->action_high, half = 0.5 * high - 0.5 * low;
        Node share = share_of(t), value = value_of(t, p->policy, share);
        Node recorded = tape_scale(
                        t, tape_shift(t, tape_input(t, INPUT_ACTION), -0.5 * low - 0.5 * high), 1.0 / half);
        Node distance = tape_total(t, tape_half_square(t, tape_subtract(t, share, recorded)));
        double each = 2.0 / (double) p->policy->n_action;

        tape_loss(t, distance, each);
        tape_loss(t, value, -p->lambda);
        tape_sum(t, CRITICS_SUM_LOSS, distance, each);
        tape_sum(t, CRITICS_SUM_LOSS, value, -p->lambda);
}

static int move_policy(Runtime *runtime, Rows rows, CriticSteps *steps) {
        CloneLoss loss = { .policy = runtime_policy(runtime) };
        double size, entropy;
        int r;

        r = runtime_gradient(runtime, NET_POLICY, rows, size_loss, loss.policy, &size, 1);
        if (r < 0)
                return r;
        loss.lambda = size > 0.0 ? runtime_settings(runtime)->q_weight / size : 0.0;
        r = critics_move_policy(runtime, rows, clone_loss, &loss, steps, &entropy);
        if (r < 0)
                return r;
        runtime_follow(runtime);
        return 0;
}

static int td3_bc_step(Runtime *runtime, uint32_t draw, CriticSteps *steps) {
        Rows rows = runtime_replay(runtime, draw, runtime_settings(runtime)->gamma);
        int r;

        critics_smoothed_targets(runtime, rows);
        r = critics_move(runtime, rows, N_CRITICS, steps);
        if (r < 0 || !critics_policy_due(runtime))
                return r;
        return move_policy(runtime, rows, steps);
}

static int td3_bc_learn(Runtime *runtime) {
        CriticSteps steps;

        return critics_learn(runtime, td3_bc_step, &steps);
}

const Algorithm algorithm_TD3_BC = {
        .name = "td3-bc",
        .learn = td3_bc_learn,
        .possible = critics_possible,
};
