/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A job's bill by other prices: by another sheet, or as that of a fleet of servers. Pure: what was used and
 * price sheets in, bills out. A sheet changes neither what a job did nor how long that took on the emulated
 * clock, except through the numbers of actors that Policy=auto and Budget= decide by it. So a run under
 * constant actors is billed by any number of sheets.
 *
 * Functions cost while they run, servers while they exist. So which is cheaper depends on the duty cycle,
 * the share of its time that a fleet has something to train: they are even where it is (price of the
 * fleet's hour) / (price of an hour of training as functions). Beyond 1 even a fleet that is always busy
 * costs more. */
#pragma once

#include "daemon/bill/price.h"

/* The job's settings, without a budget, which is in its own sheet's currency. */
void rebill_settings(const JobSettings *settings, JobSettings *ret);

/* The price of a second of an actor's execution as a function, before a sheet rounds durations up. For the
 * learner: price_learner_second(). */
double rebill_actor_second(const PriceSheet *sheet, const JobSettings *settings);

/* The bill under this convention, whatever the job's own is. */
void rebill_by(const Usage *usage, const PriceSheet *sheet, const JobSettings *settings, uint32_t convention,
                Bill *ret);

typedef struct Fleet {
        double hour; /* what the fleet costs for one */
        double emulated,
                        /* what it costs for the job's rounds, with its start-up: on a fleet's clock, and
                         * on this host's */
                        wall;
        double even_emulated,
                        even_wall; /* the duty cycles; NaN: the job has cost nothing yet, or took no time */
} Fleet;

/* The cost of training as functions, without evaluations, which a fleet would play beside the next round. */
double fleet_serverless(const Usage *usage, const PriceSheet *sheet, const JobSettings *settings);

/* sheet: the job's; fleet: the one that is compared with. */
void fleet_make(const Usage *usage, const PriceSheet *sheet, const PriceSheet *fleet,
                const JobSettings *settings, Fleet *ret);

/* Whether a sheet names servers that this bill can be compared with: 0; or -EINVAL with a sentence
 * (g_free()). */
int fleet_check(const PriceSheet *sheet, const PriceSheet *fleet, const JobSettings *settings,
                char **ret_message);

/* "1 p3.2xlarge, 4 c5.4xlarge"; g_free(). */
char *fleet_servers(const PriceSheet *fleet, const JobSettings *settings);
