/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The learned scheduler's eyes and its decision: the environment that trains it and the daemon that asks it see through the same functions. */
#pragma once

#include <stddef.h>

#include "include/minions.h"
#include "include/record.h"

/* What closed rounds showed. */
typedef struct MinionsFacts {
        uint64_t round;               /* the newest closed one; 0: none, and the rest is not read */
        double loss, return_mean, kl; /* NaN: not known */
        uint64_t learner_nsec, actor_mean_nsec, round_nsec; /* on the emulated clock */
        double budget_left;                                 /* share */
} MinionsFacts;

void minions_features(const MinionsFacts *facts, double target, float ret[MINIONS_N_FEATURES]);

/* The numbers of a round's statistics that are in the facts: the whole loss; the return that it showed (lib/statistics.h), or `before` if it
 * showed none; the share of StopSteps= that is left. */
double minions_loss(const JobSettings *settings, const Statistics *statistics);
double minions_return(const Statistics *statistics, bool evaluates, double before);
double minions_steps_left(const JobSettings *settings, const Statistics *statistics);

/* J: the return that the job is to reach, or the one that its environment is registered with; NaN: neither is known. */
double minions_target(const JobSettings *settings);

/* Whether these bytes are a scheduler: 0; -EBADMSG with *ret_reason, words that follow its name. */
int minions_check(const void *data, size_t n, const char **ret_reason);

/* The count that the network holds for the best: 1 .. n_choices. Bytes that minions_check() accepts. 0, -ENOMEM. */
int minions_decide(const void *data, size_t n, const float features[MINIONS_N_FEATURES], uint32_t *ret);
