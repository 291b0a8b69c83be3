/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* This file has the gradients with respect to the network's outputs; runtime_gradient() goes on from
 * there. */
#include "learner/algorithm/policy-gradient.h"

#include <math.h>
#include <stddef.h>

enum { SUM_POLICY, SUM_VALUE, SUM_ENTROPY, _SUM_MAX };

typedef struct PolicyGradientLoss {
        float value_weight, entropy_weight;
        float mean, scale; /* advantages become (a - mean) * scale */
} PolicyGradientLoss;

static void policy_gradient_loss(const Shard *s, const void *arg) {
        const PolicyGradientLoss *p = arg;
        double sums[_SUM_MAX] = {};

        for (uint32_t i = 0; i < s->stride; i++) {
                float a = (s->advantage[i] - p->mean) * p->scale, weight = s->weight[i];
                float error = s->value[i] - s->target[i];

                s->d_log_probability[i] = -weight * a;
                s->d_entropy[i] = -weight * p->entropy_weight;
                s->d_value[i] = weight * p->value_weight * error;

                sums[SUM_POLICY] -= (double) (weight * a * s->log_probability[i]);
                sums[SUM_VALUE] += (double) (weight * 0.5f * error * error);
                sums[SUM_ENTROPY] += (double) (weight * s->entropy[i]);
        }

        for (unsigned k = 0; k < _SUM_MAX; k++)
                s->sums[k] += sums[k];
}

void policy_gradient_second(Runtime *runtime, const LossRow *row, LossJet *ret) {
        const JobSettings *s = runtime_settings(runtime);

        ret->d[TERM_LOG_PROBABILITY] = -row->advantage;
        ret->d[TERM_ENTROPY] = -s->entropy_weight;
        ret->d[TERM_VALUE] = s->value_weight * (row->term[TERM_VALUE] - row->target);
        ret->dd[TERM_VALUE][TERM_VALUE] = s->value_weight;
}

static PolicyGradientLoss policy_gradient_weights(Runtime *runtime, Rows rows) {
        const JobSettings *s = runtime_settings(runtime);
        AdvantageScale advantage = runtime_advantage_scale(runtime, rows);

        return (PolicyGradientLoss){
                .value_weight = (float) s->value_weight,
                .entropy_weight = (float) s->entropy_weight,
                .mean = (float) advantage.mean,
                .scale = (float) advantage.scale,
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
