/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Noise that depends on the noise of the step before: the process of Ornstein and Uhlenbeck, which
 * "Continuous control with deep reinforcement learning" (Lillicrap et al. 2016, section 7) uses for
 * exploration. Each number of an action has an x, which is 0 at the beginning of an episode:
 *
 *     x <- x - 0.15 x + ActionNoise= * e, e standard normal
 *
 * x is a share of half the range of the action. The numbers e are drawn by (slot, ordinal, step), and x is
 * kept in the slot's snapshot. So a repeated invocation gets the same noise, no matter which process
 * computes the action. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "include/actord/env.h"
#include "include/policy.h"

/* The bytes that the state of the noise process needs in a slot; 0: the policy's noise has no state. */
static inline size_t noise_bytes(const Network *network) {
        return network->noise_carried ? network->n_action * sizeof(double) : 0;
}

/* Makes one step of the noise process, and adds the noise to an action. action: float [n_action]; it is
 * clipped to its bounds. */
void noise_step(const Network *network, double *process, ActordRandom *random, float *action);
