/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* "Consistency Models as a Rich and Efficient Policy Class for Reinforcement Learning" (Ding & Jin, ICLR
 * 2024), offline: a policy that makes an action of noise in Passes= passes (lib/sampler.h). It descends
 *
 *   mean of 100 / (t' - t) |f(s, a + t' z, t') - f_ema(s, a + t z, t)|^2
 *                  - Eta= * mean of Q_j(s, f(s)) / mean of |Q_i(s, f(s))|
 *
 * where t and t' are neighbouring boundaries, of which there are more and more as training goes on, z is
 * the same noise in both, f_ema is the policy's target, and f(s) is an action that it samples, through which
 * the gradient goes. i and j are the two critics, by turns. Critics learn as in TD3, from actions that the
 * target samples. */
#include <math.h>

#include "learner/algorithm/critics.h"
#include "lib/forward.h"
#include "lib/sampler.h"

enum {
        STATE_TAKEN = CRITICS_STATE, /* gradient steps so far */
};

enum { N_CRITICS = 2 };

/* Of half a squared distance. */
#define DISTANCE_WEIGHT 200.0

typedef struct Sampler {
        const Network *policy;
        Moment moments[PASSES_MAX];
        Net judge, scale; /* Q_j, Q_i */
        double q_weight;
} Sampler;

/* F of an action with noise, whose time has this embedding. */
static Node network_of(Tape *t, Net net, Node action, Node embedding) {
        Node input = tape_join(t, tape_join(t, tape_input(t, INPUT_OBSERVATION), action), embedding);

        return tape_output(t, tape_network(t, net, input), OUTPUT_ACTION);
}

/* As lib/forward.c samples, with noise behind that of the consistency loss. */
static Node sample(Tape *t, const Sampler *p, Net net) {
        const uint32_t n = p->policy->n_action, passes = p->policy->passes;
        Node x = 0;

        for (uint32_t k = 0; k < passes; k++) {
                const Moment *m = &p->moments[k];
                double spread = k == 0 ? SAMPLER_MOST : sampler_spread((double) m->time);
                Node noise = tape_scale(t, tape_input_part(t, INPUT_NORMAL, (1 + k) * n, n), spread), f;

                x = k == 0 ? noise : tape_add(t, noise, x);
                f = network_of(t, net, tape_scale(t, x, (double) m->in),
                                tape_constants(t, m->embedding, TIME_EMBEDDING));
                x = tape_add(t, tape_scale(t, x, (double) m->skip), tape_scale(t, f, (double) m->out));
                x = tape_clamp(t, x, -1.0, 1.0);
        }
        return x;
}

static Node number_of(Tape *t, uint32_t moment, uint32_t which, uint32_t width) {
        uint32_t at = moment * MOMENT_NUMBERS + which;

        return tape_spread(t, tape_input_part(t, INPUT_MOMENTS, at, 1), width);
}

/* f of a recorded action with the row's noise, at the row's later moment (0) or the one before it (1). */
static Node denoised(Tape *t, Net net, Node recorded, uint32_t moment, uint32_t n) {
        Node noise = tape_multiply(
                        t, number_of(t, moment, MOMENT_TIME, n), tape_input_part(t, INPUT_NORMAL, 0, n));
        Node x = tape_add(t, recorded, noise);
        Node embedding = tape_input_part(
                        t, INPUT_MOMENTS, moment * MOMENT_NUMBERS + MOMENT_EMBEDDING, TIME_EMBEDDING);
        Node f = network_of(t, net, tape_multiply(t, number_of(t, moment, MOMENT_IN, n), x), embedding);

        return tape_add(t, tape_multiply(t, number_of(t, moment, MOMENT_SKIP, n), x),
                        tape_multiply(t, number_of(t, moment, MOMENT_OUT, n), f));
}

static Node value_of(Tape *t, const Sampler *p, Net critic, Node share) {
        return critics_value(t, critic, critics_joined(t, critics_action(t, p->policy, share)));
}

static void consistency_target(Tape *t, const void *arg) {
        const Sampler *p = arg;
        Node joined = critics_joined(t, critics_action(t, p->policy, sample(t, p, NET_TARGET)));

        critics_target(t, tape_min(t, critics_value(t, NET_CRITIC_TARGET, joined),
                                          critics_value(t, NET_CRITIC_2_TARGET, joined)));
}

/* A sum alone. */
static void size_loss(Tape *t, const void *arg) {
        const Sampler *p = arg;
        Node value = value_of(t, p, p->scale, sample(t, p, NET_POLICY));

        tape_loss(t, value, 0.0);
        tape_sum(t, 0, tape_abs(t, value), 1.0);
}

static void policy_loss(Tape *t, const void *arg) {
        const Sampler *p = arg;
        const uint32_t n = p->policy->n_action;
        Node recorded = tape_scale(t, tape_shift(t, tape_input(t, INPUT_ACTION), -action_middle(p->policy)),
                        1.0 / action_reach(p->policy));
        Node distance = tape_total(
                        t, tape_half_square(t, tape_subtract(t, denoised(t, NET_POLICY, recorded, 0, n),
                                                               denoised(t, NET_TARGET, recorded, 1, n))));
        Node value = value_of(t, p, p->judge, sample(t, p, NET_POLICY));

        distance = tape_multiply(t, distance, tape_input_part(t, INPUT_MOMENTS, 2 * MOMENT_NUMBERS, 1));
        tape_loss(t, distance, DISTANCE_WEIGHT);
        tape_loss(t, value, -p->q_weight);
        tape_sum(t, CRITICS_SUM_LOSS, distance, DISTANCE_WEIGHT);
        tape_sum(t, CRITICS_SUM_LOSS, value, -p->q_weight);
        tape_sum(t, CRITICS_SUM_ENTROPY, distance, 0.0);
}

static int move_policy(Runtime *runtime, Rows rows, Sampler *sampler, CriticSteps *steps) {
        double size, entropy;
        int r;

        r = runtime_gradient(runtime, NET_POLICY, rows, size_loss, sampler, &size, 1);
        if (r < 0)
                return r;
        sampler->q_weight = size > 0.0 ? runtime_settings(runtime)->eta / size : 0.0;
        r = critics_move_policy(runtime, rows, policy_loss, sampler, steps, &entropy);
        if (r < 0)
                return r;
        runtime_follow(runtime);
        return 0;
}

static int consistency_step(Runtime *runtime, uint32_t draw, CriticSteps *steps) {
        const JobSettings *s = runtime_settings(runtime);
        double *taken = &runtime_state(runtime)[STATE_TAKEN];
        double all = (double) s->stop_steps * s->train_ratio;
        bool turn = fmod(*taken, 2.0) > 0.0;
        Rows rows = runtime_replay(runtime, draw, s->gamma);
        Sampler sampler = {
                .policy = runtime_policy(runtime),
                .judge = turn ? NET_CRITIC_2 : NET_CRITIC,
                .scale = turn ? NET_CRITIC : NET_CRITIC_2,
        };
        int r;

        for (uint32_t k = 0; k < sampler.policy->passes; k++)
                moment_of(sampler_time(sampler.policy->passes, k), &sampler.moments[k]);
        runtime_boundaries(runtime, sampler_boundaries(*taken / all));
        ++*taken;
        runtime_targets(runtime, rows, consistency_target, &sampler);
        r = critics_move(runtime, rows, N_CRITICS, steps);
        if (r < 0)
                return r;
        return move_policy(runtime, rows, &sampler, steps);
}

static int consistency_learn(Runtime *runtime) {
        CriticSteps steps;

        return critics_learn(runtime, consistency_step, &steps);
}

static bool consistency_possible(const double state[ALGORITHM_STATE_MAX]) {
        return critics_possible(state) && state[STATE_TAKEN] >= 0.0 && state[STATE_TAKEN] < 0x1p53;
}

const Algorithm algorithm_CONSISTENCY = {
        .name = "consistency",
        .learn = consistency_learn,
        .possible = consistency_possible,
};
