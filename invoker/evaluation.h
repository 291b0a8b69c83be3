/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which rounds are followed by an evaluation, what is believed of an episode, and what all of them amount
 * to. Pure; evaluate.c does what follows from it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "include/settings.h"
#include "include/turn.h"

/* last: the job ends with this round, whatever an evaluation says. */
bool evaluation_is_due(const JobSettings *settings, uint64_t round, bool last);

/* Whether the next round may begin while it is played; its own is closed before it, then. */
bool evaluation_is_beside(const JobSettings *settings, bool last);

/* An actor's word on an episode, as far as it can be checked. horizon: of the environment; 0: it has
 * none. */
bool evaluation_is_possible(const Answer *answer, uint32_t horizon_steps);

/* Mean and sample deviation; NaN where there is none. Summed by episode, so that it does not matter who
 * played which, and when. */
void evaluation_summarise(const double *returns, uint64_t n, double *ret_mean, double *ret_sd);
