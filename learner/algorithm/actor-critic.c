/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The order in which nodes are recorded is part of an algorithm's arithmetic: gradients that meet in one
 * node are added in that order. */
#include "learner/algorithm/actor-critic.h"

#include <math.h>

ActorCriticWeights actor_critic_weights(Runtime *runtime) {
        const JobSettings *s = runtime_settings(runtime);

        return (ActorCriticWeights){
                .value = s->value_weight,
                .entropy = s->entropy_weight,
                .advantage = { .scale = 1.0 },
        };
}

Node actor_critic_advantage(Tape *t, AdvantageScale scale) {
        return tape_scale(t, tape_shift(t, tape_column(t, COLUMN_ADVANTAGE), -scale.mean), scale.scale);
}

Node actor_critic_surrogate(Tape *t, Node advantage, Node ratio, double clip) {
        Node held = tape_clip(t, ratio, clip);
        /* If the clipped ratio gives the smaller objective, it is a constant and has no gradient. */
        Node least = tape_min(t, tape_multiply(t, advantage, held), tape_multiply(t, advantage, ratio));

        tape_sum(t, ACTOR_CRITIC_CLIPPED, tape_differs(t, held, ratio), 1.0);
        return least;
}

Node actor_critic_value_loss(Tape *t) {
        return tape_half_square(
                        t, tape_subtract(t, tape_term(t, TERM_VALUE), tape_column(t, COLUMN_TARGET)));
}

void actor_critic_loss(Tape *t, const ActorCriticWeights *weights, Node policy, Node value_loss) {
        Node entropy = tape_term(t, TERM_ENTROPY);

        tape_loss(t, policy, -1.0);
        tape_loss(t, value_loss, weights->value);
        tape_loss(t, entropy, -weights->entropy);

        tape_sum(t, ACTOR_CRITIC_POLICY, policy, -1.0);
        tape_sum(t, ACTOR_CRITIC_VALUE, value_loss, 1.0);
        tape_sum(t, ACTOR_CRITIC_ENTROPY, entropy, 1.0);
}

int actor_critic_apply(Runtime *runtime, double rate, const double sums[_ACTOR_CRITIC_SUM_MAX],
                ActorCriticTotal *total) {
        double norm;
        int r;

        r = runtime_apply(runtime, NET_POLICY, rate, runtime_settings(runtime)->max_grad_norm, &norm);
        if (r < 0)
                return r;

        for (unsigned k = 0; k < _ACTOR_CRITIC_SUM_MAX; k++)
                total->sums[k] += sums[k];
        total->norm += norm;
        total->n++;
        return 0;
}

/* The mean over the gradient steps of an update; NaN: there was none. */
static double mean_of(double sum, const ActorCriticTotal *total) {
        return total->n > 0 ? sum / (double) total->n : NAN;
}

void actor_critic_report(Runtime *runtime, const ActorCriticTotal *total, double rate) {
        Statistics *statistics = runtime_statistics(runtime);

        statistics->loss_policy = mean_of(total->sums[ACTOR_CRITIC_POLICY], total);
        statistics->loss_value = mean_of(total->sums[ACTOR_CRITIC_VALUE], total);
        statistics->entropy = mean_of(total->sums[ACTOR_CRITIC_ENTROPY], total);
        statistics->gradient_norm = mean_of(total->norm, total);
        statistics->explained_variance = runtime_explained_variance(runtime);
        statistics->learning_rate = rate;
}

void actor_critic_report_surrogate(Runtime *runtime, const ActorCriticTotal *total, double rate) {
        Statistics *statistics = runtime_statistics(runtime);

        actor_critic_report(runtime, total, rate);
        statistics->kl = mean_of(total->sums[ACTOR_CRITIC_KL], total);
        statistics->clip_fraction = mean_of(total->sums[ACTOR_CRITIC_CLIPPED], total);
}
