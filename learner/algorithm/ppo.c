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

enum { STATE_KL_WEIGHT };
enum { SUM_POLICY, SUM_VALUE, SUM_ENTROPY, SUM_KL, SUM_CLIPPED, _SUM_MAX };

typedef struct PpoLoss {
        double clip, value_clip, value_weight, entropy_weight, kl_weight;
        double mean, scale; /* advantages become (a - mean) * scale */
} PpoLoss;

/* Half the squared error of the value; or, if greater, that of the value clipped to within value_clip of
 * the old one. Within the clip both errors are equal; rounding must not make one of them greater. */
static Node value_loss(Tape *t, const PpoLoss *p) {
        Node value = tape_term(t, TERM_VALUE), old = tape_column(t, COLUMN_OLD_VALUE);
        Node target = tape_column(t, COLUMN_TARGET);
        Node loss = tape_half_square(t, tape_subtract(t, value, target)), moved, kept, kept_loss;

        if (p->value_clip == INFINITY)
                return loss;
        moved = tape_subtract(t, value, old);
        kept = tape_add(t, old, tape_clamp(t, moved, -p->value_clip, p->value_clip));
        kept_loss = tape_half_square(t, tape_subtract(t, kept, target));
        return tape_where(t, tape_exceeds(t, tape_abs(t, moved), p->value_clip),
                        tape_max(t, kept_loss, loss), loss);
}

/* Weights come last in the gradient of the probability: policies of earlier releases were made so. */
static void ppo_loss(Tape *t, const void *arg) {
        const PpoLoss *p = arg;
        Node a = tape_scale(t, tape_shift(t, tape_column(t, COLUMN_ADVANTAGE), -p->mean), p->scale);
        Node log_ratio = tape_subtract(t, tape_term_late(t, TERM_LOG_PROBABILITY),
                        tape_column(t, COLUMN_OLD_LOG_PROBABILITY));
        Node ratio = tape_exp(t, log_ratio), held = tape_clip(t, ratio, p->clip);
        /* The clipped ratio gives the lesser objective only where it is constant. */
        Node policy = tape_min(t, tape_multiply(t, a, held), tape_multiply(t, a, ratio));
        Node kl = tape_divergence_by_exp(t, ratio);
        Node value = value_loss(t, p), entropy = tape_term(t, TERM_ENTROPY);

        tape_loss(t, policy, -1.0);
        tape_loss(t, value, p->value_weight);
        tape_loss(t, entropy, -p->entropy_weight);
        if (p->kl_weight > 0.0)
                tape_loss(t, kl, p->kl_weight);

        tape_sum(t, SUM_POLICY, policy, -1.0);
        tape_sum(t, SUM_VALUE, value, 1.0);
        tape_sum(t, SUM_ENTROPY, entropy, 1.0);
        tape_sum(t, SUM_KL, kl, 1.0);
        tape_sum(t, SUM_CLIPPED, tape_differs(t, held, ratio), 1.0);
}

static PpoLoss ppo_weights(Runtime *runtime) {
        const JobSettings *s = runtime_settings(runtime);

        return (PpoLoss){
                .clip = runtime_scheduled(runtime, s->clip, s->clip_schedule),
                .value_clip = settings_present(s, SETTING_Learner_ValueClip) ? s->value_clip : INFINITY,
                .value_weight = s->value_weight,
                .entropy_weight = s->entropy_weight,
                .kl_weight = runtime_state(runtime)[STATE_KL_WEIGHT],
                .scale = 1.0,
        };
}

static void ppo_plain(Runtime *runtime, Tape *tape) {
        PpoLoss loss = ppo_weights(runtime);

        ppo_loss(tape, &loss);
}

typedef struct PpoSums { /* over the round's gradient steps */
        double sums[_SUM_MAX], norm, epoch_kl;
        uint64_t n;
} PpoSums;

static void ppo_normalise(Runtime *runtime, Rows rows, PpoLoss *loss) {
        AdvantageScale advantage = runtime_advantage_scale(runtime, rows);

        loss->mean = advantage.mean;
        loss->scale = advantage.scale;
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
        .loss = ppo_plain,
};
