/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* "Soft Actor-Critic Algorithms and Applications" (Haarnoja et al. 2018), algorithm 1: a random policy whose
 * entropy is rewarded, too. Two critics make targets that include the value of the entropy (5, 6). The
 * policy minimises (7) through the noise with which its actions were drawn (9). The temperature is the
 * weight of the entropy. Without Temperature= it is learned, so that the entropy reaches TargetEntropy=
 * (18). */
#include <errno.h>
#include <math.h>

#include "learner/algorithm/critics.h"
#include "lib/doubles.h"
#include "lib/forward.h"

enum {
        STATE_LOG_TEMPERATURE = CRITICS_STATE,
        STATE_M, /* Adam's state for the temperature */
        STATE_V,
        STATE_MOVES,
};

enum { N_CRITICS = 2 };

typedef struct SacLoss {
        const Network *policy;
        double temperature;
} SacLoss;

/* Draws an action, with INPUT_NORMAL as the noise, and joins it with the observation. */
static Node sac_draw(Tape *t, const Network *network, Node *ret_log_probability) {
        const double reach = 0.5 * (SQUASHED_LOG_SD_HIGH - SQUASHED_LOG_SD_LOW),
                     half_log_2pi = 0.918938533204672742;
        double each = half_log_2pi + double_log(0.5 * network->action_high - 0.5 * network->action_low);
        Node policy = tape_network(t, NET_POLICY, tape_input(t, INPUT_OBSERVATION));
        Node normal = tape_input(t, INPUT_NORMAL), share = tape_output(t, policy, OUTPUT_LOG_STD);
        Node log_sd = tape_shift(t, tape_scale(t, share, reach), SQUASHED_LOG_SD_LOW + reach);
        Node spread = tape_multiply(t, tape_exp(t, log_sd), normal);
        Node x = tape_add(t, tape_output(t, policy, OUTPUT_ACTION), spread);
        Node density = tape_add(t, tape_half_square(t, normal),
                        tape_add(t, tape_shift(t, log_sd, each), tape_log_tanh_slope(t, x)));

        *ret_log_probability = tape_scale(t, tape_total(t, density), -1.0);
        return critics_joined(t, critics_action(t, network, tape_tanh(t, x)));
}

static void sac_target(Tape *t, const void *arg) {
        const SacLoss *p = arg;
        Node log_probability, joined = sac_draw(t, p->policy, &log_probability);
        Node least = tape_min(t, critics_value(t, NET_CRITIC_TARGET, joined),
                        critics_value(t, NET_CRITIC_2_TARGET, joined));

        critics_target(t, tape_subtract(t, least, tape_scale(t, log_probability, p->temperature)));
}

static void sac_policy_loss(Tape *t, const void *arg) {
        const SacLoss *p = arg;
        Node log_probability, joined = sac_draw(t, p->policy, &log_probability);
        Node least = tape_min(
                        t, critics_value(t, NET_CRITIC, joined), critics_value(t, NET_CRITIC_2, joined));
        Node loss = tape_subtract(t, tape_scale(t, log_probability, p->temperature), least);

        tape_loss(t, loss, 1.0);
        tape_sum(t, CRITICS_SUM_LOSS, loss, 1.0);
        tape_sum(t, CRITICS_SUM_ENTROPY, log_probability, -1.0);
}

static double temperature_of(Runtime *runtime) {
        const JobSettings *s = runtime_settings(runtime);

        return settings_present(s, SETTING_Learner_Temperature)
                               ? s->temperature
                               : double_exp(runtime_state(runtime)[STATE_LOG_TEMPERATURE]);
}

/* One step of Adam on log(alpha), down the gradient of alpha (entropy - target). */
static void temperature_move(Runtime *runtime, double rate, double entropy) {
        const JobSettings *s = runtime_settings(runtime);
        double *state = runtime_state(runtime), b1 = s->adam_beta1, b2 = s->adam_beta2, d, m, v;
        double target = settings_present(s, SETTING_Learner_TargetEntropy)
                                        ? s->target_entropy
                                        : -(double) runtime_policy(runtime)->n_action;
        uint64_t n = (uint64_t) ++state[STATE_MOVES];

        d = double_exp(state[STATE_LOG_TEMPERATURE]) * (entropy - target);
        state[STATE_M] = b1 * state[STATE_M] + (1.0 - b1) * d;
        state[STATE_V] = b2 * state[STATE_V] + (1.0 - b2) * d * d;
        m = state[STATE_M] / (1.0 - double_power(b1, n));
        v = state[STATE_V] / (1.0 - double_power(b2, n));
        state[STATE_LOG_TEMPERATURE] -= rate * m / (sqrt(v) + s->adam_epsilon);
}

static int sac_step(Runtime *runtime, uint32_t draw, CriticSteps *steps) {
        const JobSettings *s = runtime_settings(runtime);
        Rows rows = runtime_replay(runtime, draw, s->gamma);
        SacLoss loss = { .policy = runtime_policy(runtime), .temperature = temperature_of(runtime) };
        double entropy;
        int r;

        runtime_targets(runtime, rows, sac_target, &loss);
        r = critics_move(runtime, rows, N_CRITICS, steps);
        if (r < 0)
                return r;
        r = critics_move_policy(runtime, rows, sac_policy_loss, &loss, steps, &entropy);
        if (r < 0)
                return r;
        if (!settings_present(s, SETTING_Learner_Temperature))
                temperature_move(runtime, steps->critic_rate, entropy);
        if (!isfinite((float) temperature_of(runtime)))
                return -ERANGE;
        runtime_follow(runtime);
        return 0;
}

static int sac_learn(Runtime *runtime) {
        CriticSteps steps;
        int r;

        r = critics_learn(runtime, sac_step, &steps);
        if (r < 0)
                return r;
        runtime_statistics(runtime)->entropy = steps.n_policy > 0 ? steps.entropy / steps.n_policy : NAN;
        return 0;
}

static bool sac_possible(const double state[ALGORITHM_STATE_MAX]) {
        /* The temperature must be finite as a float, too, since it enters the tape. */
        return critics_possible(state) && state[STATE_V] >= 0.0 && state[STATE_MOVES] >= 0.0 &&
               state[STATE_MOVES] < 0x1p53 && isfinite((float) double_exp(state[STATE_LOG_TEMPERATURE]));
}

const Algorithm algorithm_SAC = {
        .name = "sac",
        .learn = sac_learn,
        .possible = sac_possible,
};
