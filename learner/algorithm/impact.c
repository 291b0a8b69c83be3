/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* "IMPACT: Importance Weighted Asynchronous Architectures with Clipped Target Networks" (Luo et al. 2020),
 * which RLlib has as APPO. Batches go through a circular buffer and are learned from Epochs= times on
 * average: a round's own first, then batches drawn from the buffer. With pi the policy, t the target
 * network and mu the policy that acted, the surrogate's ratio is min(mu / t, 2) * pi / mu, which is pi / t
 * wherever the bound does not bind. Advantages come from V-trace for the target network, which does not
 * change while a batch is learned from. */
#include <math.h>

#include "learner/algorithm/algorithm.h"

enum { STATE_STEPS }; /* gradient steps since the target network was updated */
enum { SUM_POLICY, SUM_VALUE, SUM_ENTROPY, SUM_KL, SUM_CLIPPED, _SUM_MAX };

typedef struct ImpactLoss {
        double clip, value_weight, entropy_weight;
        double mean, scale; /* advantages become (a - mean) * scale */
} ImpactLoss;

typedef struct ImpactTotal { /* over the gradient steps of a round */
        double sums[_SUM_MAX], norm;
        uint64_t n;
} ImpactTotal;

/* The paper's bound on mu / t. */
static const double LOG_TRUNCATION = M_LN2;

static void impact_loss(Tape *t, const void *arg) {
        const ImpactLoss *p = arg;
        Node now = tape_term(t, TERM_LOG_PROBABILITY), target = tape_column(t, COLUMN_OLD_LOG_PROBABILITY);
        Node behaviour = tape_column(t, COLUMN_BEHAVIOUR_LOG_PROBABILITY);
        Node a = tape_scale(t, tape_shift(t, tape_column(t, COLUMN_ADVANTAGE), -p->mean), p->scale);
        /* Logarithms are added before exp(): actors may have stored any finite number. */
        Node bounded = tape_clamp(t, tape_subtract(t, behaviour, target), -INFINITY, LOG_TRUNCATION);
        Node ratio = tape_exp(t, tape_add(t, bounded, tape_subtract(t, now, behaviour)));
        Node held = tape_clip(t, ratio, p->clip);
        /* The clipped ratio gives the lesser objective only where it is constant. */
        Node policy = tape_min(t, tape_multiply(t, a, held), tape_multiply(t, a, ratio));
        Node error = tape_subtract(t, tape_term(t, TERM_VALUE), tape_column(t, COLUMN_TARGET));
        Node value = tape_half_square(t, error), entropy = tape_term(t, TERM_ENTROPY);

        tape_loss(t, policy, -1.0);
        tape_loss(t, value, p->value_weight);
        tape_loss(t, entropy, -p->entropy_weight);

        tape_sum(t, SUM_POLICY, policy, -1.0);
        tape_sum(t, SUM_VALUE, value, 1.0);
        tape_sum(t, SUM_ENTROPY, entropy, 1.0);
        tape_sum(t, SUM_KL, tape_divergence(t, tape_subtract(t, now, target)), 1.0);
        tape_sum(t, SUM_CLIPPED, tape_differs(t, held, ratio), 1.0);
}

static ImpactLoss impact_weights(Runtime *runtime) {
        const JobSettings *s = runtime_settings(runtime);

        return (ImpactLoss){
                .clip = runtime_scheduled(runtime, s->clip, s->clip_schedule),
                .value_weight = s->value_weight,
                .entropy_weight = s->entropy_weight,
                .scale = 1.0,
        };
}

static void impact_plain(Runtime *runtime, Tape *tape) {
        ImpactLoss loss = impact_weights(runtime);

        impact_loss(tape, &loss);
}

static void impact_normalise(Runtime *runtime, Rows rows, ImpactLoss *loss) {
        AdvantageScale advantage = runtime_advantage_scale(runtime, rows);

        loss->mean = advantage.mean;
        loss->scale = advantage.scale;
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
        ImpactLoss loss = impact_weights(runtime);
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
        .loss = impact_plain,
};
