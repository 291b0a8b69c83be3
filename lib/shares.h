/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The arithmetic of [Scaling] Shares=. The environment `shares` uses it to train policies, and the daemon
 * uses it to act by them. */
#pragma once

#include <stddef.h>

#include "include/actord/env.h"
#include "include/shares.h"

/* Sets the spaces of observations and actions, for the environment and for reading a policy. */
void shares_spaces(ActordEnvSpec *ret);

/* Computes the numbers that a job's trading policy reads. demand_of_all: the sum over all jobs that trade,
 * this one included. */
void shares_features(const SharesJob *job, double cores, double demand_of_all, float ret[SHARES_N_FEATURES]);

/* The bid after an action. It stays between SHARES_WEIGHT_MIN and SHARES_WEIGHT_MAX. */
uint32_t shares_move(uint32_t weight, SharesAction action);

/* The running mean `before` of speeds, after one more was measured; old speeds fade within about
 * SHARES_MEMORY measurements. before < 0: this is the first speed. */
#define SHARES_MEMORY 5.0
double shares_smooth(double before, double measured);

/* Divides the cores as the kernel does among cgroups that are always busy: in proportion to their weights,
 * where none gets more than it can use and the rest goes to the others. A job with no demand gets 0. */
void shares_divide(double cores, size_t n, const double weights[], const double demands[], double ret[]);
