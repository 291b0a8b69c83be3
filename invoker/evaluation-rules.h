/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The rules of evaluations: after which rounds they come, which answers are possible, and the mean of all
 * episodes. Pure; evaluate.c carries them out. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "include/settings.h"
#include "include/turn.h"

/* Whether an evaluation follows this round. last: the job ends with this round in any case. */
bool evaluation_is_due(const JobSettings *settings, uint64_t round, bool last);

/* Whether the next round may begin while the episodes are played. If so, the evaluated round ends before its
 * episodes do. */
bool evaluation_is_beside(const JobSettings *settings, bool last);

/* Whether an actor's answer about an episode is possible. horizon_steps: the environment's limit; 0: it has
 * none. */
bool evaluation_is_possible(const Answer *answer, uint32_t horizon_steps);

/* The number of the first metric of an episode that is beyond FLT_MAX, from 1; 0: there is none. n: how many
 * metrics. */
uint32_t evaluation_impossible_metric(const Answer *answer, uint32_t n);

/* Mean and sample deviation; NaN: there is none. Episodes are summed in the order of their numbers, so it
 * does not matter when or in which container they were played. */
void evaluation_summarise(const double *returns, uint64_t n, double *ret_mean, double *ret_sd);
/* The mean of one metric over the episodes that have it. NaN: no episode has it. */
double evaluation_metric_mean(const double *metrics, uint64_t n);
