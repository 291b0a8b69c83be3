/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The features that the learned scheduler sees, and its decision. The environment that trains the scheduler
 * and the daemon that uses it call the same functions. */
#pragma once

#include <stddef.h>

#include "include/minions.h"
#include "include/record.h"

/* Facts about rounds that have ended. */
typedef struct MinionsFacts {
        /* the newest round that has ended; 0: there is none, and the other members are not read */
        uint64_t round;
        double loss, return_mean, kl;                       /* NaN: not known */
        uint64_t learner_nsec, actor_mean_nsec, round_nsec; /* on the emulated clock */
        double budget_left;                                 /* the share of the budget that is left */
} MinionsFacts;

void minions_features(const MinionsFacts *facts, double target, float ret[MINIONS_N_FEATURES]);

/* Facts from a round's statistics: the whole loss; the round's return (lib/statistics.h), or `before` if the
 * round has none; the share of StopSteps= that is left. */
double minions_loss(const JobSettings *settings, const Statistics *statistics);
double minions_return(const Statistics *statistics, bool evaluates, double before);
double minions_steps_left(const JobSettings *settings, const Statistics *statistics);

/* The target return: the return that the job must reach (J in MinionsRL's paper, Yu et al., AAAI 2024). If
 * the job has none, it is the threshold that its environment registers. NaN: neither is known. */
double minions_target(const JobSettings *settings);

/* 0: these bytes are a scheduler; -EBADMSG with *ret_reason, a clause to follow the scheduler's name. */
int minions_check(const void *data, size_t n, const char **ret_reason);

/* The number of actors that the network prefers: 1 .. n_choices. The bytes must have passed
 * minions_check(). 0, -ENOMEM. */
int minions_decide(const void *data, size_t n, const float features[MINIONS_N_FEATURES], uint32_t *ret);
