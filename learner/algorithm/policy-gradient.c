/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The loss of actor-critic methods without a surrogate, and a gradient step on it. */
#include "learner/algorithm/policy-gradient.h"

#include <math.h>

enum { SUM_POLICY, SUM_VALUE, SUM_ENTROPY, _SUM_MAX };

typedef struct PolicyGradientLoss {
        double value_weight, entropy_weight;
        double mean, scale; /* advantages become (a - mean) * scale */
} PolicyGradientLoss;

static void policy_gradient_loss(Tape *t, const void *arg) {
        const PolicyGradientLoss *p = arg;
        Node advantage = tape_scale(t, tape_shift(t, tape_column(t, COLUMN_ADVANTAGE), -p->mean), p->scale);
        Node policy = tape_multiply(t, advantage, tape_term(t, TERM_LOG_PROBABILITY));
        Node error = tape_subtract(t, tape_term(t, TERM_VALUE), tape_column(t, COLUMN_TARGET));
        Node value = tape_half_square(t, error), entropy = tape_term(t, TERM_ENTROPY);

        tape_loss(t, policy, -1.0);
        tape_loss(t, value, p->value_weight);
        tape_loss(t, entropy, -p->entropy_weight);

        tape_sum(t, SUM_POLICY, policy, -1.0);
        tape_sum(t, SUM_VALUE, value, 1.0);
        tape_sum(t, SUM_ENTROPY, entropy, 1.0);
}

void policy_gradient_plain(Runtime *runtime, Tape *tape) {
        const JobSettings *s = runtime_settings(runtime);

        policy_gradient_loss(tape, &(PolicyGradientLoss){
                                                   .value_weight = s->value_weight,
                                                   .entropy_weight = s->entropy_weight,
                                                   .scale = 1.0,
                                   });
}

static PolicyGradientLoss policy_gradient_weights(Runtime *runtime, Rows rows) {
        const JobSettings *s = runtime_settings(runtime);
        AdvantageScale advantage = runtime_advantage_scale(runtime, rows);

        return (PolicyGradientLoss){
                .value_weight = s->value_weight,
                .entropy_weight = s->entropy_weight,
                .mean = advantage.mean,
                .scale = advantage.scale,
        };
}

void policy_gradient_noise(Runtime *runtime) {
        PolicyGradientLoss loss;

        if (!settings_noise_scale(runtime_settings(runtime)))
                return;
        loss = policy_gradient_weights(runtime, runtime_rows(runtime));
        runtime_statistics(runtime)->noise_scale =
                        runtime_noise_scale(runtime, NET_POLICY, policy_gradient_loss, &loss);
}

int policy_gradient_step(Runtime *runtime, Rows rows, double rate, PolicyGradientTotal *total) {
        const JobSettings *s = runtime_settings(runtime);
        PolicyGradientLoss loss = policy_gradient_weights(runtime, rows);
        double sums[_SUM_MAX], norm;
        int r;

        r = runtime_gradient(runtime, NET_POLICY, rows, policy_gradient_loss, &loss, sums, _SUM_MAX);
        if (r < 0)
                return r;
        r = runtime_apply(runtime, NET_POLICY, rate, s->max_grad_norm, &norm);
        if (r < 0)
                return r;

        total->policy += sums[SUM_POLICY];
        total->value += sums[SUM_VALUE];
        total->entropy += sums[SUM_ENTROPY];
        total->norm += norm;
        total->n_steps++;
        return 0;
}

void policy_gradient_report(Runtime *runtime, const PolicyGradientTotal *total, double rate) {
        Statistics *statistics = runtime_statistics(runtime);
        double n = total->n_steps > 0 ? (double) total->n_steps : NAN;

        statistics->loss_policy = total->policy / n;
        statistics->loss_value = total->value / n;
        statistics->entropy = total->entropy / n;
        statistics->gradient_norm = total->norm / n;
        statistics->explained_variance = runtime_explained_variance(runtime);
        statistics->learning_rate = rate;
}
