/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The parts that DDPG, TD3, SAC and the algorithms built on them share. Each environment step makes some
 * gradient steps due. A gradient step moves each critic, and from time to time the policy. */
#pragma once

#include "learner/algorithm/algorithm.h"

enum {
        CRITICS_OWED,  /* state: gradient steps that are due but not taken yet */
        CRITICS_STEPS, /* steps of the critics since the policy's last one */
        CRITICS_STATE, /* the first index for an algorithm's own state */
};

/* The networks other than the policy, as lib/algorithm-traits.c numbers them. */
enum {
        NET_CRITIC = NET_OF(1),
        NET_CRITIC_TARGET,
        NET_CRITIC_2 = NET_OF(2),
        NET_CRITIC_2_TARGET,
};

/* A round's learning rates, and sums over its steps. */
typedef struct CriticSteps {
        double rate, critic_rate;
        double loss_value, loss_policy, entropy, norm;
        uint32_t n, n_policy;
} CriticSteps;

/* Takes one step of all critics on minibatch number `draw`, and the algorithm's other steps. Returns 0, or
 * an error of runtime_gradient(). */
typedef int (*CriticStep)(Runtime *runtime, uint32_t draw, CriticSteps *steps);

/* Learns from a round: stores its data, takes the steps that are due, and reports on them. */
int critics_learn(Runtime *runtime, CriticStep step, CriticSteps *ret);

/* Recording */

/* The policy, or its target, applied to the observation. */
Node critics_policy(Tape *tape, Net policy);
/* The action, within the policy's bounds, for an output between -1 and 1. */
Node critics_action(Tape *tape, const Network *policy, Node share);
/* A critic's value of the observation joined with this action; see critics_joined(). */
Node critics_value(Tape *tape, Net critic, Node joined);
Node critics_joined(Tape *tape, Node action);
/* For critics_smoothed_action(), which adds noise to the target policy's action in the next state and joins
 * this action to the next observation. This is equation 14 of "Addressing Function Approximation Error in
 * Actor-Critic Methods" (Fujimoto et al. 2018). */
typedef struct Smoothed {
        const Network *policy;
        double noise, noise_clip;
} Smoothed;

Smoothed critics_smoothed(const Runtime *runtime);
Node critics_smoothed_action(Tape *tape, const Smoothed *smoothed);
/* Records a target as the tape's result: the rewards of a window of steps, plus the discounted `value` of
 * the state after the window. */
void critics_target(Tape *tape, Node value);
/* The mean of (Q(s, a) - target)^2. arg: a Net, the critic. */
void critics_loss(Tape *tape, const void *arg);

/* indices of the sums that a policy's loss records */
enum { CRITICS_SUM_LOSS, CRITICS_SUM_ENTROPY, CRITICS_SUMS };

/* Gradient steps */

/* Computes targets from the smaller value of two critics, with noise on the action: equations 10 and 14 of
 * "Addressing Function Approximation Error in Actor-Critic Methods" (Fujimoto et al. 2018). */
void critics_smoothed_targets(Runtime *runtime, Rows rows);
/* Takes a gradient step of each of n critics towards the targets that runtime_targets() made. */
int critics_move(Runtime *runtime, Rows rows, uint32_t n, CriticSteps *steps);
/* Counts a step of the critics. Returns whether the policy's step is due: after every PolicyDelay= steps of
 * the critics. */
bool critics_policy_due(Runtime *runtime);
/* Takes a gradient step of the policy on its loss. */
int critics_move_policy(Runtime *runtime, Rows rows, Loss loss, const void *arg, CriticSteps *steps,
                double *ret_entropy);

/* Takes a gradient step of the n critics. After every PolicyDelay= such steps it also takes a step of the
 * policy, which must output one action, and then the target networks follow. */
int critics_move_all(Runtime *runtime, Rows rows, uint32_t n, CriticSteps *steps);

bool critics_possible(const double state[ALGORITHM_STATE_MAX]);
