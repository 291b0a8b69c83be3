/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Noise that goes on from step to step: the process of Ornstein and Uhlenbeck, as "Continuous control with
 * deep reinforcement learning" (Lillicrap et al. 2016, section 7) explores with it. For each number of an
 * action, x begins as 0 in each episode:
 *
 *     x <- x - 0.15 x + ActionNoise= * e, e standard normal
 *
 * in shares of half the range of the action. The numbers e are drawn by (slot, ordinal, step), and x is kept
 * in the slot's snapshot. So an invocation that is repeated sees the same noise, wherever the action itself
 * came from. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "include/actord/env.h"
#include "include/policy.h"

/* The bytes of a slot's process; 0: it has no such noise. */
static inline size_t noise_bytes(const Network *network) {
        return network->noise_carried ? network->n_action * sizeof(double) : 0;
}

/* Makes one step of the process, and adds it to an action, which stays inside the bounds: float
 * [n_action]. */
void noise_step(const Network *network, double *process, ActordRandom *random, float *action);
