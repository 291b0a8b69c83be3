/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* "IMPACT: Importance Weighted Asynchronous Architectures with Clipped Target Networks" (Luo et al. 2020),
 * called APPO in RLlib. Batches go through a circular buffer, and each batch is used Epochs= times on
 * average: a round learns first from its own batch, then from batches drawn from the buffer. Let pi be the
 * policy, t the target network, and mu the policy that acted. The surrogate's ratio is min(mu / t, 2) * pi /
 * mu. This is pi / t unless the bound applies. Advantages come from V-trace for the target network. The
 * target network does not change while a batch is used. */
#include <math.h>

#include "learner/algorithm/actor-critic.h"
#include "learner/algorithm/algorithm.h"

enum { STATE_STEPS }; /* gradient steps since the target network was updated */

typedef struct ImpactLoss {
        ActorCriticWeights weights;
        double clip;
} ImpactLoss;

/* The paper's bound on mu / t. */
static const double LOG_TRUNCATION = M_LN2;

static void impact_loss(Tape *t, const void *arg) {
        const ImpactLoss *p = arg;
        Node now = tape_term(t, TERM_LOG_PROBABILITY), target = tape_column(t, COLUMN_OLD_LOG_PROBABILITY);
        Node behaviour = tape_column(t, COLUMN_BEHAVIOUR_LOG_PROBABILITY);
        Node advantage = actor_critic_advantage(t, p->weights.advantage);
        /* Logarithms are added and bounded before exp(), so that no log-probability from an actor makes it
         * overflow: an actor may have stored any finite number. */
        Node bounded = tape_clamp(t, tape_subtract(t, behaviour, target), -INFINITY, LOG_TRUNCATION);
        Node ratio = tape_exp(t, tape_add(t, bounded, tape_subtract(t, now, behaviour)));
        Node policy = actor_critic_surrogate(t, advantage, ratio, p->clip);

        actor_critic_loss(t, &p->weights, policy, actor_critic_value_loss(t));
        tape_sum(t, ACTOR_CRITIC_KL, tape_divergence(t, tape_subtract(t, now, target)), 1.0);
}

static ImpactLoss impact_weights(Runtime *runtime) {
        const JobSettings *s = runtime_settings(runtime);

        return (ImpactLoss){
                .weights = actor_critic_weights(runtime),
                .clip = runtime_scheduled(runtime, s->clip, s->clip_schedule),
        };
}

static void impact_plain(Runtime *runtime, Tape *tape) {
        ImpactLoss loss = impact_weights(runtime);

        impact_loss(tape, &loss);
}

/* Measures the noise scale in the first pass, when the batch is the round's own data. */
static void impact_noise(Runtime *runtime, ImpactLoss *loss) {
        loss->weights.advantage = runtime_advantage_scale(runtime, runtime_rows(runtime));
        runtime_statistics(runtime)->noise_scale =
                        runtime_noise_scale(runtime, NET_POLICY, impact_loss, loss);
}

/* One pass over the drawn batch. */
static int impact_pass(
                Runtime *runtime, uint32_t pass, ImpactLoss *loss, double rate, ActorCriticTotal *total) {
        Rows rows;
        int r;

        for (uint32_t k = 0; (rows = runtime_sample(runtime, pass, k)).n > 0; k++) {
                double sums[_ACTOR_CRITIC_SUM_MAX];

                loss->weights.advantage = runtime_advantage_scale(runtime, rows);
                r = runtime_gradient(
                                runtime, NET_POLICY, rows, impact_loss, loss, sums, _ACTOR_CRITIC_SUM_MAX);
                if (r < 0)
                        return r;
                r = actor_critic_apply(runtime, rate, sums, total);
                if (r < 0)
                        return r;
                runtime_state(runtime)[STATE_STEPS]++;
        }
        return 0;
}

/* Called only between passes, so that the target does not change within a batch. */
static void impact_target(Runtime *runtime, bool round_over) {
        const JobSettings *s = runtime_settings(runtime);
        double *n = &runtime_state(runtime)[STATE_STEPS];

        if (settings_present(s, SETTING_Learner_TargetInterval) ? *n < s->target_interval : !round_over)
                return;
        runtime_follow(runtime);
        *n = 0.0;
}

static int impact_learn(Runtime *runtime) {
        const JobSettings *s = runtime_settings(runtime);
        double rate = runtime_scheduled(runtime, s->learning_rate, s->learning_rate_schedule);
        ImpactLoss loss = impact_weights(runtime);
        ActorCriticTotal total = {};
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

        actor_critic_report_surrogate(runtime, &total, rate);
        return 0;
}

const Algorithm algorithm_IMPACT = {
        .name = "impact",
        .learn = impact_learn,
        .loss = impact_plain,
};
