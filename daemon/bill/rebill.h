/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A finished job's records by another price sheet. Pure: no sheet changes what a job did or how long that
 * took on the emulated clock, but for the numbers of actors that Policy=auto and Budget= decide by it. So
 * a run under constant actors is billed by any number of sheets. */
#pragma once

#include "daemon/bill/price.h"

/* The job's settings, without a budget, which is in its own sheet's currency. */
void rebill_settings(const JobSettings *settings, JobSettings *ret);

/* What a second of an actor's execution costs as a function, before a sheet rounds durations up. Of the
 * learner's: price_learner_second(). */
double rebill_actor_second(const PriceSheet *sheet, const JobSettings *settings);
