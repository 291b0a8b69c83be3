/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The parts that all actor-critic losses share: advantages, normalised or not; half the squared error of the
 * value; the entropy; and the statistics of a round. The algorithms differ in the policy's term, and in
 * their advantages and targets. */
#pragma once

#include "learner/runtime.h"

/* The sums that actor_critic_loss() records. Those from ACTOR_CRITIC_KL on belong to losses with a
 * surrogate. */
enum {
        ACTOR_CRITIC_POLICY,
        ACTOR_CRITIC_VALUE,
        ACTOR_CRITIC_ENTROPY,
        ACTOR_CRITIC_KL,
        ACTOR_CRITIC_CLIPPED,
        _ACTOR_CRITIC_SUM_MAX,
};

typedef struct ActorCriticWeights {
        double value, entropy;
        AdvantageScale advantage;
} ActorCriticWeights;

typedef struct ActorCriticTotal { /* sums over the gradient steps of a round */
        double sums[_ACTOR_CRITIC_SUM_MAX], norm;
        uint64_t n;
} ActorCriticTotal;

/* The job's ValueWeight= and EntropyWeight=. Advantages are not scaled, unless the caller sets
 * `advantage`. */
ActorCriticWeights actor_critic_weights(Runtime *runtime);

/* Recording */
Node actor_critic_advantage(Tape *tape, AdvantageScale scale);
/* Records min(ratio * advantage, clip(ratio) * advantage). Also records a sum: the share of rows whose ratio
 * was clipped ("Proximal Policy Optimization Algorithms", Schulman et al. 2017, equation 7). */
Node actor_critic_surrogate(Tape *tape, Node advantage, Node ratio, double clip);
Node actor_critic_value_loss(Tape *tape); /* half the squared error of the value */
/* Records the loss: value_loss times its weight, minus `policy`, minus the entropy times its weight. It also
 * records sums of these three terms, for statistics. */
void actor_critic_loss(Tape *tape, const ActorCriticWeights *weights, Node policy, Node value_loss);

/* Takes one step of the optimiser with the last gradient. sums: came with that gradient, and are added to
 * `total`. 0, or an error of runtime_apply(). */
int actor_critic_apply(Runtime *runtime, double rate, const double sums[_ACTOR_CRITIC_SUM_MAX],
                ActorCriticTotal *total);

/* Writes the means over the steps into the round's statistics. The second function is for losses with a
 * surrogate. */
void actor_critic_report(Runtime *runtime, const ActorCriticTotal *total, double rate);
void actor_critic_report_surrogate(Runtime *runtime, const ActorCriticTotal *total, double rate);
