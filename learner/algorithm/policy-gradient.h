/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The loss of actor-critic methods without a surrogate: the policy's term is -advantage * log(probability).
 * Each algorithm computes its own advantages and targets. */
#pragma once

#include "learner/algorithm/actor-critic.h"

/* Takes one gradient step on these rows of the batch. Their advantages and targets must have been computed.
 * Adds the statistics to `total`. 0, or an error of runtime_gradient(). */
int policy_gradient_step(Runtime *runtime, Rows rows, double rate, ActorCriticTotal *total);

/* Records the loss of policy_gradient_step(), for advantages that are normalised already. */
void policy_gradient_plain(Runtime *runtime, Tape *tape);
/* Writes the noise scale of this loss's gradient into the round's statistics, if the job asks for it. */
void policy_gradient_noise(Runtime *runtime);
