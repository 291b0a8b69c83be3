/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* "IMPACT: Importance Weighted Asynchronous Architectures with Clipped Target Networks" (Luo et al. 2020),
 * which RLlib has as APPO. Batches go through a circular buffer and are learned from Epochs= times on
 * average: a round's own first, then batches drawn from the buffer. With pi the policy, t the target
 * network and mu the policy that acted, the surrogate's ratio is min(mu / t, 2) * pi / mu, which is pi / t
 * wherever the bound does not bind. Advantages come from V-trace for the target network, which does not
 * change while a batch is learned from. */
#include <math.h>

#include "learner/algorithm/algorithm.h"
#include "learner/kernel/kernels.h"
#include "lib/doubles.h"

enum { STATE_STEPS }; /* gradient steps since the target network was updated */
enum { SUM_POLICY, SUM_VALUE, SUM_ENTROPY, SUM_KL, SUM_CLIPPED, _SUM_MAX };

typedef struct ImpactLoss {
        float clip, value_weight, entropy_weight;
        float mean, scale; /* advantages become (a - mean) * scale */
} ImpactLoss;

typedef struct ImpactTotal { /* over the gradient steps of a round */
        double sums[_SUM_MAX], norm;
        uint64_t n;
} ImpactTotal;

/* log 2: of the paper's bound on mu / t */
static const float LOG_TRUNCATION = 0.693147181f;

static void impact_loss(const Shard *s, const void *arg) {
        const ImpactLoss *p = arg;
        double sums[_SUM_MAX] = {};

        /* Logarithms are added before exp(): actors may have stored any finite number. */
        for (uint32_t i = 0; i < s->stride; i++) {
                float behaviour = s->behaviour_log_probability[i];

                s->scratch[i] = fminf(behaviour - s->old_log_probability[i], LOG_TRUNCATION) +
                                (s->log_probability[i] - behaviour);
        }
        kernel_exp(s->scratch, s->stride);

        for (uint32_t i = 0; i < s->stride; i++) {
                float ratio = s->scratch[i], moved = s->log_probability[i] - s->old_log_probability[i];
                float a = (s->advantage[i] - p->mean) * p->scale, weight = s->weight[i];
                float held = fminf(fmaxf(ratio, 1.0f - p->clip), 1.0f + p->clip);
                /* The clipped ratio gives the lesser objective only where it is constant: there the
                 * gradient is 0. */
                bool clipped = a * held < a * ratio;
                float error = s->value[i] - s->target[i];

                s->d_log_probability[i] = clipped ? 0.0f : -weight * a * ratio;
                s->d_entropy[i] = -weight * p->entropy_weight;
                s->d_value[i] = weight * p->value_weight * error;

                sums[SUM_POLICY] -= (double) (weight * a * (clipped ? held : ratio));
                sums[SUM_VALUE] += (double) (weight * 0.5f * error * error);
                sums[SUM_ENTROPY] += (double) (weight * s->entropy[i]);
                sums[SUM_KL] += (double) weight * (double_expm1((double) moved) - (double) moved);
                sums[SUM_CLIPPED] += held != ratio ? (double) weight : 0.0;
        }

        for (unsigned k = 0; k < _SUM_MAX; k++)
                s->sums[k] += sums[k];
}

/* impact_loss() of one row with its second derivatives, which are 0 where the ratio is clipped. */
static void impact_second(Runtime *runtime, const LossRow *row, LossJet *ret) {
        const JobSettings *s = runtime_settings(runtime);
        double clip = runtime_scheduled(runtime, s->clip, s->clip_schedule), a = row->advantage;
        double behaviour = row->behaviour_log_probability;
        double ratio = double_exp(fmin(behaviour - row->old_log_probability, (double) LOG_TRUNCATION) +
                                  (row->term[TERM_LOG_PROBABILITY] - behaviour));
        double held = fmin(fmax(ratio, 1.0 - clip), 1.0 + clip);

        ret->d[TERM_LOG_PROBABILITY] = a * held < a * ratio ? 0.0 : -a * ratio;
        ret->dd[TERM_LOG_PROBABILITY][TERM_LOG_PROBABILITY] = ret->d[TERM_LOG_PROBABILITY];
        ret->d[TERM_ENTROPY] = -s->entropy_weight;
        ret->d[TERM_VALUE] = s->value_weight * (row->term[TERM_VALUE] - row->target);
        ret->dd[TERM_VALUE][TERM_VALUE] = s->value_weight;
}

static void impact_normalise(Runtime *runtime, Rows rows, ImpactLoss *loss) {
        AdvantageScale advantage = runtime_advantage_scale(runtime, rows);

        loss->mean = (float) advantage.mean;
        loss->scale = (float) advantage.scale;
}

/* The noise scale of the round's own data; the buffer's batches come after them. */
static void impact_noise(Runtime *runtime, ImpactLoss *loss) {
        impact_normalise(runtime, runtime_rows(runtime), loss);
        runtime_statistics(runtime)->noise_scale =
                        runtime_noise_scale(runtime, NET_POLICY, impact_loss, loss);
}

/* One pass over the batch that was drawn. */
static int impact_pass(Runtime *runtime, uint32_t pass, ImpactLoss *loss, double rate, ImpactTotal *total) {
        const JobSettings *s = runtime_settings(runtime);
        Rows rows;
        int r;

        for (uint32_t k = 0; (rows = runtime_sample(runtime, pass, k)).n > 0; k++) {
                double sums[_SUM_MAX], norm;

                impact_normalise(runtime, rows, loss);
                r = runtime_gradient(runtime, NET_POLICY, rows, impact_loss, loss, sums, _SUM_MAX);
                if (r < 0)
                        return r;
                r = runtime_apply(runtime, NET_POLICY, rate, s->max_grad_norm, &norm);
                if (r < 0)
                        return r;

                for (unsigned i = 0; i < _SUM_MAX; i++)
                        total->sums[i] += sums[i];
                total->norm += norm;
                total->n++;
                runtime_state(runtime)[STATE_STEPS]++;
        }
        return 0;
}

/* Only between passes: each batch is learned from with one target. */
static void impact_target(Runtime *runtime, bool round_over) {
        const JobSettings *s = runtime_settings(runtime);
        double *n = &runtime_state(runtime)[STATE_STEPS];

        if (settings_present(s, SETTING_Learner_TargetInterval) ? *n < s->target_interval : !round_over)
                return;
        runtime_copy(runtime, NET_TARGET, NET_POLICY);
        *n = 0.0;
}

static void impact_report(Runtime *runtime, const ImpactTotal *total, double rate) {
        Statistics *statistics = runtime_statistics(runtime);
        double n = (double) total->n;

        statistics->loss_policy = total->sums[SUM_POLICY] / n;
        statistics->loss_value = total->sums[SUM_VALUE] / n;
        statistics->entropy = total->sums[SUM_ENTROPY] / n;
        statistics->kl = total->sums[SUM_KL] / n;
        statistics->clip_fraction = total->sums[SUM_CLIPPED] / n;
        statistics->gradient_norm = total->norm / n;
        statistics->explained_variance = runtime_explained_variance(runtime);
        statistics->learning_rate = rate;
}

static int impact_learn(Runtime *runtime) {
        const JobSettings *s = runtime_settings(runtime);
        double rate = runtime_scheduled(runtime, s->learning_rate, s->learning_rate_schedule);
        ImpactLoss loss = {
                .clip = (float) runtime_scheduled(runtime, s->clip, s->clip_schedule),
                .value_weight = (float) s->value_weight,
                .entropy_weight = (float) s->entropy_weight,
        };
        ImpactTotal total = {};
        int r;

        runtime_push(runtime);
        for (uint32_t pass = 0; pass < s->epochs; pass++) {
                runtime_draw(runtime, pass);
                runtime_recompute(runtime, NET_TARGET);
                runtime_vtrace(runtime, s->gamma, s->rho_bar, s->c_bar);
                if (pass == 0 && settings_noise_scale(s))
                        impact_noise(runtime, &loss);
                r = impact_pass(runtime, pass, &loss, rate, &total);
                if (r < 0)
                        return r;
                impact_target(runtime, pass + 1 == s->epochs);
        }

        impact_report(runtime, &total, rate);
        return 0;
}

const Algorithm algorithm_IMPACT = {
        .name = "impact",
        .learn = impact_learn,
        .second = impact_second,
};
