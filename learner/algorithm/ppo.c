/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* "Proximal Policy Optimization Algorithms" (Schulman et al. 2017), with the details that implementations
 * agree on ("The 37 Implementation Details of Proximal Policy Optimization", Huang et al.). The value loss
 * is half the squared error, as in CleanRL; Stable-Baselines3's vf_coef is half of ValueWeight=.
 *
 * The divergence is estimated as mean(ratio - 1 - log(ratio)), which is unbiased and never negative
 * ("Approximating KL Divergence", Schulman); its gradient, times KLWeight=, is part of the loss. As in the
 * paper, KLWeight= adapts to KLTarget= by factors of 2 if the divergence differs from it by more than a
 * factor of 1.5. */
#include "learner/algorithm/ppo.h"

#include <math.h>

#include "learner/algorithm/actor-critic.h"

enum { STATE_KL_WEIGHT };

typedef struct PpoLoss {
        ActorCriticWeights weights;
        double clip, value_clip, kl_weight;
} PpoLoss;

/* Half the squared error of the value, or of the value clipped to within value_clip of the old one:
 * whichever is larger. Inside the clip both errors are equal; rounding must not make one of them larger. */
static Node value_loss(Tape *t, const PpoLoss *p) {
        Node loss = actor_critic_value_loss(t), old, moved, kept, kept_loss;

        if (p->value_clip == INFINITY)
                return loss;
        old = tape_column(t, COLUMN_OLD_VALUE);
        moved = tape_subtract(t, tape_term(t, TERM_VALUE), old);
        kept = tape_add(t, old, tape_clamp(t, moved, -p->value_clip, p->value_clip));
        kept_loss = tape_half_square(t, tape_subtract(t, kept, tape_column(t, COLUMN_TARGET)));
        return tape_where(t, tape_exceeds(t, tape_abs(t, moved), p->value_clip),
                        tape_max(t, kept_loss, loss), loss);
}

/* The order of the factors in the gradient of the probability must stay as in earlier releases, with the
 * weights last: otherwise policies would change. */
static void ppo_loss(Tape *t, const void *arg) {
        const PpoLoss *p = arg;
        Node advantage = actor_critic_advantage(t, p->weights.advantage);
        Node log_ratio = tape_subtract(t, tape_term_late(t, TERM_LOG_PROBABILITY),
                        tape_column(t, COLUMN_OLD_LOG_PROBABILITY));
        Node ratio = tape_exp(t, log_ratio);
        Node policy = actor_critic_surrogate(t, advantage, ratio, p->clip);
        Node kl = tape_divergence_by_exp(t, ratio);

        actor_critic_loss(t, &p->weights, policy, value_loss(t, p));
        if (p->kl_weight > 0.0)
                tape_loss(t, kl, p->kl_weight);
        tape_sum(t, ACTOR_CRITIC_KL, kl, 1.0);
}

static PpoLoss ppo_weights(Runtime *runtime) {
        const JobSettings *s = runtime_settings(runtime);

        return (PpoLoss){
                .weights = actor_critic_weights(runtime),
                .clip = runtime_scheduled(runtime, s->clip, s->clip_schedule),
                .value_clip = settings_present(s, SETTING_Learner_ValueClip) ? s->value_clip : INFINITY,
                .kl_weight = runtime_state(runtime)[STATE_KL_WEIGHT],
        };
}

void ppo_plain(Runtime *runtime, Tape *tape) {
        PpoLoss loss = ppo_weights(runtime);

        ppo_loss(tape, &loss);
}

/* Runs one epoch. 0; 1: the divergence passed KLStop=, and the next step was not taken; or an error of
 * runtime_gradient(). *ret_kl is the mean over the epoch; KLWeight= adapts to that of the last epoch. If the
 * epoch was stopped, *ret_kl is the estimate that stopped it: the divergence of the policy with which the
 * round ends. A mean would include the 0 of the first step. */
static int ppo_epoch(Runtime *runtime, uint32_t epoch, PpoLoss *loss, double rate, ActorCriticTotal *total,
                double *ret_kl) {
        const JobSettings *s = runtime_settings(runtime);
        uint32_t n_minibatches = 0;
        double kl = 0.0;
        Rows rows;
        int r;

        for (; (rows = runtime_sample(runtime, epoch, n_minibatches)).n > 0; n_minibatches++) {
                double sums[_ACTOR_CRITIC_SUM_MAX];

                loss->weights.advantage = runtime_advantage_scale(runtime, rows);
                r = runtime_gradient(runtime, NET_POLICY, rows, ppo_loss, loss, sums, _ACTOR_CRITIC_SUM_MAX);
                if (r < 0)
                        return r;
                if (settings_present(s, SETTING_Learner_KLStop) && sums[ACTOR_CRITIC_KL] > s->kl_stop) {
                        *ret_kl = sums[ACTOR_CRITIC_KL];
                        return 1;
                }
                r = actor_critic_apply(runtime, rate, sums, total);
                if (r < 0)
                        return r;
                kl += sums[ACTOR_CRITIC_KL];
        }

        *ret_kl = kl / n_minibatches;
        return 0;
}

static void ppo_adapt(Runtime *runtime, double kl) {
        double target = runtime_settings(runtime)->kl_target,
               *weight = &runtime_state(runtime)[STATE_KL_WEIGHT];

        if (kl > target * 1.5)
                *weight = fmin(*weight * 2.0, 1e9);
        else if (kl < target / 1.5)
                *weight = fmax(*weight / 2.0, 1e-9);
}

void ppo_init(const JobSettings *settings, double state[ALGORITHM_STATE_MAX]) {
        state[STATE_KL_WEIGHT] = settings->kl_weight;
}

int ppo_learn(Runtime *runtime) {
        const JobSettings *s = runtime_settings(runtime);
        double rate = runtime_scheduled(runtime, s->learning_rate, s->learning_rate_schedule);
        PpoLoss loss = ppo_weights(runtime);
        ActorCriticTotal total = {};
        double kl = 0.0;
        int r = 0;

        runtime_recompute(runtime, NET_POLICY);
        runtime_advantage(runtime, s->gamma, s->lambda);

        /* The noise scale is measured for the policy that acted: no ratio is clipped yet. */
        if (settings_noise_scale(s)) {
                loss.weights.advantage = runtime_advantage_scale(runtime, runtime_rows(runtime));
                runtime_statistics(runtime)->noise_scale =
                                runtime_noise_scale(runtime, NET_POLICY, ppo_loss, &loss);
        }

        for (uint32_t epoch = 0; epoch < s->epochs && r == 0; epoch++) {
                r = ppo_epoch(runtime, epoch, &loss, rate, &total, &kl);
                if (r < 0)
                        return r;
        }

        if (s->kl_weight > 0)
                ppo_adapt(runtime, kl);
        actor_critic_report_surrogate(runtime, &total, rate);
        return 0;
}

const Algorithm algorithm_PPO = {
        .name = "ppo",
        .init = ppo_init,
        .learn = ppo_learn,
        .loss = ppo_plain,
};
