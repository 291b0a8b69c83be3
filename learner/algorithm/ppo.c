/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* "Proximal Policy Optimization Algorithms" (Schulman et al. 2017), with the details that implementations
 * agree on ("The 37 Implementation Details of Proximal Policy Optimization", Huang et al.). The value
 * loss is half the squared error, as CleanRL has it; Stable-Baselines3's vf_coef is half of ours.
 *
 * The divergence is estimated as mean(ratio - 1 - log(ratio)), which is unbiased and never negative
 * ("Approximating KL Divergence", Schulman); its gradient serves KLWeight=, which adapts to KLTarget= as
 * in the paper, by factors of 2 outside of a factor of 1.5. */
#include <math.h>

#include "learner/algorithm/algorithm.h"
#include "learner/kernel/kernels.h"
#include "lib/doubles.h"

enum { STATE_KL_WEIGHT };
enum { SUM_POLICY, SUM_VALUE, SUM_ENTROPY, SUM_KL, SUM_CLIPPED, _SUM_MAX };

typedef struct PpoLoss {
        float clip, value_clip, value_weight, entropy_weight, kl_weight;
        float mean, scale; /* advantages become (a - mean) * scale */
} PpoLoss;

/* Half the squared error of the value; or, if greater, that of the value clipped to within value_clip of
 * the old one. */
static float value_loss(const PpoLoss *p, float value, float old, float target, float *ret_d) {
        float error = value - target, moved = value - old, held;

        /* Within the clip both errors are equal; rounding must not make one of them greater. */
        if (fabsf(moved) > p->value_clip) {
                held = old + copysignf(p->value_clip, moved) - target;
                if (held * held > error * error) {
                        *ret_d = 0.0f;
                        return 0.5f * held * held;
                }
        }

        *ret_d = error;
        return 0.5f * error * error;
}

static void ppo_loss(const Shard *s, const void *arg) {
        const PpoLoss *p = arg;
        double sums[_SUM_MAX] = {};

        for (uint32_t i = 0; i < s->stride; i++)
                s->scratch[i] = s->log_probability[i] - s->old_log_probability[i];
        kernel_exp(s->scratch, s->stride);

        for (uint32_t i = 0; i < s->stride; i++) {
                float ratio = s->scratch[i], log_ratio = s->log_probability[i] - s->old_log_probability[i];
                float a = (s->advantage[i] - p->mean) * p->scale, weight = s->weight[i];
                float held = fminf(fmaxf(ratio, 1.0f - p->clip), 1.0f + p->clip);
                /* The clipped ratio gives the lesser objective only where it is constant: there the
                 * gradient is 0. */
                bool clipped = a * held < a * ratio;
                float d_value, loss = value_loss(p, s->value[i], s->old_value[i], s->target[i], &d_value);

                s->d_log_probability[i] =
                                weight * ((clipped ? 0.0f : -a * ratio) + p->kl_weight * (ratio - 1.0f));
                s->d_entropy[i] = -weight * p->entropy_weight;
                s->d_value[i] = weight * p->value_weight * d_value;

                sums[SUM_POLICY] -= (double) (weight * a * (clipped ? held : ratio));
                sums[SUM_VALUE] += (double) (weight * loss);
                sums[SUM_ENTROPY] += (double) (weight * s->entropy[i]);
                sums[SUM_KL] += (double) (weight * (ratio - 1.0f - log_ratio));
                sums[SUM_CLIPPED] += held != ratio ? (double) weight : 0.0;
        }

        for (unsigned k = 0; k < _SUM_MAX; k++)
                s->sums[k] += sums[k];
}

static PpoLoss ppo_weights(Runtime *runtime) {
        const JobSettings *s = runtime_settings(runtime);

        return (PpoLoss){
                .clip = (float) runtime_scheduled(runtime, s->clip, s->clip_schedule),
                .value_clip = settings_present(s, SETTING_Learner_ValueClip) ? (float) s->value_clip
                                                                             : INFINITY,
                .value_weight = (float) s->value_weight,
                .entropy_weight = (float) s->entropy_weight,
                .kl_weight = (float) runtime_state(runtime)[STATE_KL_WEIGHT],
                .scale = 1.0f,
        };
}

/* ppo_loss() of one row with its second derivatives, which are 0 where something is clipped. */
static void ppo_second(Runtime *runtime, const LossRow *row, LossJet *ret) {
        PpoLoss p = ppo_weights(runtime);
        double ratio = double_exp(row->term[TERM_LOG_PROBABILITY] - row->old_log_probability),
               a = row->advantage;
        double held = fmin(fmax(ratio, 1.0 - (double) p.clip), 1.0 + (double) p.clip);
        double surrogate = a * held < a * ratio ? 0.0 : -a * ratio, kl_weight = (double) p.kl_weight;
        double value = row->term[TERM_VALUE], moved = value - row->old_value;

        ret->d[TERM_LOG_PROBABILITY] = surrogate + kl_weight * (ratio - 1.0);
        ret->dd[TERM_LOG_PROBABILITY][TERM_LOG_PROBABILITY] = surrogate + kl_weight * ratio;
        ret->d[TERM_ENTROPY] = -(double) p.entropy_weight;
        if (fabs(moved) > (double) p.value_clip) {
                double kept = row->old_value + copysign((double) p.value_clip, moved);

                if (fabs(kept - row->target) > fabs(value - row->target))
                        return;
        }
        ret->d[TERM_VALUE] = (double) p.value_weight * (value - row->target);
        ret->dd[TERM_VALUE][TERM_VALUE] = (double) p.value_weight;
}

typedef struct PpoSums { /* over the round's gradient steps */
        double sums[_SUM_MAX], norm, epoch_kl;
        uint64_t n;
} PpoSums;

static void ppo_normalise(Runtime *runtime, Rows rows, PpoLoss *loss) {
        AdvantageScale advantage = runtime_advantage_scale(runtime, rows);

        loss->mean = (float) advantage.mean;
        loss->scale = (float) advantage.scale;
}

/* One epoch. 0; 1: the divergence passed KLStop=, and the next step was not taken; -ERANGE. KLWeight=
 * adapts to epoch_kl: the mean over the epoch; or, in an epoch that was stopped, the estimate that stopped
 * it. That one is of the policy that the round ends with; a mean would include the 0 of the first step. */
static int ppo_epoch(Runtime *runtime, uint32_t epoch, PpoLoss *loss, double rate, PpoSums *total) {
        const JobSettings *s = runtime_settings(runtime);
        uint32_t n_minibatches = 0;
        double kl = 0.0;
        Rows rows;
        int r;

        for (; (rows = runtime_sample(runtime, epoch, n_minibatches)).n > 0; n_minibatches++) {
                double sums[_SUM_MAX], norm;

                ppo_normalise(runtime, rows, loss);
                r = runtime_gradient(runtime, NET_POLICY, rows, ppo_loss, loss, sums, _SUM_MAX);
                if (r < 0)
                        return r;
                if (settings_present(s, SETTING_Learner_KLStop) && sums[SUM_KL] > s->kl_stop) {
                        total->epoch_kl = sums[SUM_KL];
                        return 1;
                }
                r = runtime_apply(runtime, NET_POLICY, rate, s->max_grad_norm, &norm);
                if (r < 0)
                        return r;

                for (unsigned k = 0; k < _SUM_MAX; k++)
                        total->sums[k] += sums[k];
                total->norm += norm;
                total->n++;
                kl += sums[SUM_KL];
        }

        total->epoch_kl = kl / n_minibatches;
        return 0;
}

static void ppo_report(Runtime *runtime, const PpoSums *total, double rate) {
        Statistics *statistics = runtime_statistics(runtime);
        double n = total->n > 0 ? (double) total->n : NAN;

        statistics->loss_policy = total->sums[SUM_POLICY] / n;
        statistics->loss_value = total->sums[SUM_VALUE] / n;
        statistics->entropy = total->sums[SUM_ENTROPY] / n;
        statistics->kl = total->sums[SUM_KL] / n;
        statistics->clip_fraction = total->sums[SUM_CLIPPED] / n;
        statistics->gradient_norm = total->norm / n;
        statistics->explained_variance = runtime_explained_variance(runtime);
        statistics->learning_rate = rate;
}

static void ppo_adapt(Runtime *runtime, double kl) {
        double target = runtime_settings(runtime)->kl_target,
               *weight = &runtime_state(runtime)[STATE_KL_WEIGHT];

        if (kl > target * 1.5)
                *weight = fmin(*weight * 2.0, 1e9);
        else if (kl < target / 1.5)
                *weight = fmax(*weight / 2.0, 1e-9);
}

static void ppo_init(const JobSettings *settings, double state[ALGORITHM_STATE_MAX]) {
        state[STATE_KL_WEIGHT] = settings->kl_weight;
}

static int ppo_learn(Runtime *runtime) {
        const JobSettings *s = runtime_settings(runtime);
        double rate = runtime_scheduled(runtime, s->learning_rate, s->learning_rate_schedule);
        PpoLoss loss = ppo_weights(runtime);
        PpoSums total = {};
        int r = 0;

        runtime_recompute(runtime, NET_POLICY);
        runtime_advantage(runtime, s->gamma, s->lambda);

        /* Measured at the policy that acted, where no ratio is clipped yet. */
        if (settings_noise_scale(s)) {
                ppo_normalise(runtime, runtime_rows(runtime), &loss);
                runtime_statistics(runtime)->noise_scale =
                                runtime_noise_scale(runtime, NET_POLICY, ppo_loss, &loss);
        }

        for (uint32_t epoch = 0; epoch < s->epochs && r == 0; epoch++) {
                r = ppo_epoch(runtime, epoch, &loss, rate, &total);
                if (r < 0)
                        return r;
        }

        if (s->kl_weight > 0)
                ppo_adapt(runtime, total.epoch_kl);
        ppo_report(runtime, &total, rate);
        return 0;
}

const Algorithm algorithm_PPO = {
        .name = "ppo",
        .init = ppo_init,
        .learn = ppo_learn,
        .second = ppo_second,
};
