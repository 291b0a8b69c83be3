/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What DDPG, TD3 and SAC have in common: gradient steps that are due for the environment steps so far, a
 * step of each critic, and now and then one of the policy. */
#pragma once

#include "learner/algorithm/algorithm.h"

enum {
        CRITICS_OWED,  /* state: gradient steps that are due, and not yet taken */
        CRITICS_STEPS, /* of critics, since the policy's last one */
        CRITICS_STATE, /* where an algorithm's own begins */
};

/* Of a round: learning rates, and sums over its steps. */
typedef struct CriticSteps {
        double rate, critic_rate;
        double loss_value, loss_policy, entropy, norm;
        uint32_t n, n_policy;
} CriticSteps;

/* One step of all critics on minibatch number `draw`, and what the algorithm does besides. 0, or as
 * runtime_gradient(). */
typedef int (*CriticStep)(Runtime *runtime, uint32_t draw, CriticSteps *steps);

/* A round: enters its data, takes the steps that are due, and reports on them. */
int critics_learn(Runtime *runtime, CriticStep step, CriticSteps *ret);

/* Recording */

/* The action that an output between -1 and 1 stands for, within the policy's bounds. */
Node critics_action(Tape *tape, const Network *policy, Node share);
/* What a critic says of the observation and this action, joined; see critics_joined(). */
Node critics_value(Tape *tape, Net critic, Node joined);
Node critics_joined(Tape *tape, Node action);
/* The result: the window's rewards, and what followed is worth. */
void critics_target(Tape *tape, Node value);
/* The mean of (Q(s, a) - target)^2. arg: a Net, the critic. */
void critics_loss(Tape *tape, const void *arg);
/* The mean of -Q(s, mu(s)) by the first critic: (6) of "Continuous control with deep reinforcement learning"
 * (Lillicrap et al. 2016). arg: the policy's Network. */
void critics_policy_loss(Tape *tape, const void *arg);

/* Of a policy's loss */
enum { CRITICS_SUM_LOSS, CRITICS_SUM_ENTROPY, CRITICS_SUMS };

/* Moving */

/* Moves each of n critics to the targets that runtime_targets() made. */
int critics_move(Runtime *runtime, Rows rows, uint32_t n, CriticSteps *steps);
/* Counts this step of the critics; whether PolicyDelay= of them have been taken. */
bool critics_policy_due(Runtime *runtime);
/* Moves the policy along the gradient of its loss. */
int critics_move_policy(Runtime *runtime, Rows rows, Loss loss, const void *arg, CriticSteps *steps,
                double *ret_entropy);
/* Targets of n critics follow them, and the policy's target the policy, if there is one. */
void critics_follow(Runtime *runtime, uint32_t n, bool policy);

/* Any action, before ReplayMin=. */
double critics_epsilon(const JobSettings *settings, uint64_t n_env_steps);
bool critics_possible(const double state[ALGORITHM_STATE_MAX]);
