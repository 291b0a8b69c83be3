/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The sampler as operations on a tape, and the gradient steps of the policy and the critics that use it. */
#include "learner/algorithm/generative.h"

#include <math.h>

#include "lib/forward.h"

enum { N_CRITICS = 2 };

static Node network_of(Tape *t, Net net, Node action, Node embedding) {
        Node input = tape_join(t, tape_join(t, tape_input(t, INPUT_OBSERVATION), action), embedding);

        return tape_output(t, tape_network(t, net, input), OUTPUT_ACTION);
}

Node generative_recorded(Tape *t, const Network *policy) {
        return tape_scale(t, tape_shift(t, tape_input(t, INPUT_ACTION), -action_middle(policy)),
                        1.0 / action_reach(policy));
}

Node generative_number(Tape *t, uint32_t moment, uint32_t which, uint32_t width) {
        uint32_t at = moment * MOMENT_NUMBERS + which;

        return tape_spread(t, tape_input_part(t, INPUT_MOMENTS, at, 1), width);
}

Node generative_noised(Tape *t, const Network *policy, Node recorded, uint32_t moment) {
        uint32_t n = policy->n_action;
        Node noise = tape_multiply(t, generative_number(t, moment, MOMENT_NOISE, n),
                        tape_input_part(t, INPUT_NORMAL, 0, n));

        if (policy->act == ACT_DIFFUSION)
                recorded = tape_multiply(t, generative_number(t, moment, MOMENT_SIGNAL, n), recorded);
        return tape_add(t, recorded, noise);
}

Node generative_network(Tape *t, Net net, const Network *policy, Node noised, uint32_t moment) {
        Node embedding = tape_input_part(
                        t, INPUT_MOMENTS, moment * MOMENT_NUMBERS + MOMENT_EMBEDDING, TIME_EMBEDDING);

        if (policy->act == ACT_CONSISTENCY)
                noised = tape_multiply(t, generative_number(t, moment, MOMENT_IN, policy->n_action), noised);
        return network_of(t, net, noised, embedding);
}

/* The action after a pass of the network, which removes only a part of the noise. x: the action before the
 * pass; f: the network's output. The computation is that of lib/forward.c. */
static Node pass_end(Tape *t, const SamplerPass *pass, Node x, Node f) {
        Node a = tape_add(t, tape_scale(t, x, (double) pass->moment.skip),
                        tape_scale(t, f, (double) pass->moment.out));

        a = tape_clamp(t, a, -1.0, 1.0);
        if (pass->keep == 0.0f)
                return a;
        return tape_add(t, tape_scale(t, x, (double) pass->keep), tape_scale(t, a, (double) pass->take));
}

/* Samples an action. In the row's INPUT_NORMAL, the first n numbers are for generative_noised(), and the
 * next ones are the noise of the passes. */
static Sample sample(Tape *t, const Generator *g, Net net, bool diverges) {
        const uint32_t n = g->policy->n_action, passes = g->policy->passes;
        Sample ret = {};
        Node x = 0;

        for (uint32_t k = 0; k < passes; k++) {
                const SamplerPass *pass = &g->passes[k];
                Node noise = tape_scale(
                                t, tape_input_part(t, INPUT_NORMAL, (1 + k) * n, n), (double) pass->spread);
                Node embedding = tape_constants(t, pass->moment.embedding, TIME_EMBEDDING), in, f;

                x = k == 0 ? noise : tape_add(t, noise, x);
                in = pass->moment.in == 1.0f ? x : tape_scale(t, x, (double) pass->moment.in);
                f = network_of(t, net, in, embedding);
                if (diverges) {
                        Node apart = tape_subtract(t, f, network_of(t, NET_TARGET, in, embedding));
                        Node divergence = tape_scale(t, tape_total(t, tape_half_square(t, apart)),
                                        2.0 * (double) pass->divergence);

                        ret.divergence = k == 0 ? divergence : tape_add(t, ret.divergence, divergence);
                }
                x = pass_end(t, pass, x, f);
        }
        ret.share = x;
        return ret;
}

static Node value_of(Tape *t, const Generator *g, Net critic, Node share) {
        return critics_value(t, critic, critics_joined(t, critics_action(t, g->policy, share)));
}

static void target_loss(Tape *t, const void *arg) {
        const Generator *g = arg;
        Node share = sample(t, g, g->teacher, false).share;
        Node joined = critics_joined(t, critics_action(t, g->policy, share));

        critics_target(t, tape_min(t, critics_value(t, NET_CRITIC_TARGET, joined),
                                          critics_value(t, NET_CRITIC_2_TARGET, joined)));
}

static void size_of(Tape *t, const void *arg) {
        const Generator *g = arg;
        Node value = value_of(t, g, g->scale, sample(t, g, NET_POLICY, false).share);

        tape_sum(t, 0, tape_abs(t, value), 1.0);
}

static void policy_loss(Tape *t, const void *arg) {
        const Generator *g = arg;
        Sample sampled = sample(t, g, NET_POLICY, g->diverges);
        Node value = value_of(t, g, g->judge, sampled.share);

        tape_loss(t, value, -g->q_weight);
        tape_sum(t, CRITICS_SUM_LOSS, value, -g->q_weight);
        tape_sum(t, CRITICS_SUM_ENTROPY, value, 0.0);
        if (g->distance) {
                Node distance = g->distance(t, g, &sampled);

                tape_loss(t, distance, 1.0);
                tape_sum(t, CRITICS_SUM_LOSS, distance, 1.0);
        }
}

static int move_policy(Runtime *runtime, Rows rows, Generator *g, CriticSteps *steps) {
        double size, entropy;
        int r;

        r = runtime_sums(runtime, rows, size_of, g, &size, 1);
        if (r < 0)
                return r;
        g->q_weight = size > 0.0 ? runtime_settings(runtime)->eta / size : 0.0;
        r = critics_move_policy(runtime, rows, policy_loss, g, steps, &entropy);
        if (r < 0)
                return r;
        runtime_follow(runtime);
        return 0;
}

int generative_step(Runtime *runtime, uint32_t draw, Generator *g, CriticSteps *steps) {
        double *taken = &runtime_state(runtime)[GENERATIVE_TAKEN];
        Rows rows = runtime_replay(runtime, draw, runtime_settings(runtime)->gamma);
        bool turn = fmod(*taken, 2.0) > 0.0;
        int r;

        g->judge = turn ? NET_CRITIC_2 : NET_CRITIC;
        g->scale = turn ? NET_CRITIC : NET_CRITIC_2;
        for (uint32_t k = 0; k < g->policy->passes; k++)
                sampler_pass(g->policy->act, g->policy->passes, k, &g->passes[k]);
        ++*taken;
        runtime_targets(runtime, rows, target_loss, g);
        r = critics_move(runtime, rows, N_CRITICS, steps);
        if (r < 0)
                return r;
        return move_policy(runtime, rows, g, steps);
}

bool generative_possible(const double state[ALGORITHM_STATE_MAX]) {
        return critics_possible(state) && state[GENERATIVE_TAKEN] >= 0.0 && state[GENERATIVE_TAKEN] < 0x1p53;
}
