/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A job's bill by other prices: by another price sheet, or for a fleet of servers. Pure: usage and price
 * sheets in, bills out. With a constant number of actors, a price sheet changes neither a job's work nor its
 * emulated time. So one such run can be billed by any number of sheets. (Policy=auto and Budget= choose
 * numbers of actors by the prices.)
 *
 * Functions cost money while they run, and servers while they exist. Which of the two is cheaper depends on
 * the duty cycle: the share of time in which the fleet trains something. Both cost the same at a duty cycle
 * of (price of the fleet's hour) / (price of an hour of training as functions). If this number is above 1,
 * even a fleet that is always busy costs more than functions. */
#pragma once

#include "daemon/bill/price.h"

/* The job's settings for another sheet. Budget= and CostAlert= lose their currency, which is that of the
 * job's own sheet. */
void rebill_settings(const JobSettings *settings, JobSettings *ret);

/* The price of one second in which an actor runs as a serverless function, before durations are rounded up.
 * For the learner: price_learner_second(). */
double rebill_actor_second(const PriceSheet *sheet, const JobSettings *settings);

/* The bill under a convention (Convention=), which need not be the job's own. */
void rebill_by(const Usage *usage, const PriceSheet *sheet, const JobSettings *settings, uint32_t convention,
                Bill *ret);

typedef struct Fleet {
        double hour; /* the price of an hour of the fleet */
        double emulated,
                        /* the price of the fleet for the job's rounds, with its start-up: by the fleet's
                         * emulated clock, and by this host's clock */
                        wall;
        /* The duty cycles at which the fleet costs as much as serverless functions. NaN: no cost or duration
         * yet. */
        double even_emulated, even_wall;
} Fleet;

/* The cost of training by serverless functions, without evaluations: a fleet would run evaluations beside
 * the next round. usage: for a job that had nodes, pass `elsewhere` of Beside (daemon/bill/beside.h). */
double fleet_serverless(const Usage *usage, const PriceSheet *sheet, const JobSettings *settings);

/* Prices the fleet. serverless: the result of fleet_serverless(), or NaN, which makes the duty cycles NaN.
 * fleet: the sheet to compare with. */
void fleet_make(const Usage *usage, double serverless, const PriceSheet *fleet, const JobSettings *settings,
                Fleet *ret);

/* Whether the bill can be compared with the servers of this sheet: 0; or -EINVAL with a sentence
 * (g_free()). */
int fleet_check(const PriceSheet *sheet, const PriceSheet *fleet, const JobSettings *settings,
                char **ret_message);

/* The servers of a fleet in words: "1 p3.2xlarge, 4 c5.4xlarge"; g_free(). */
char *fleet_servers(const PriceSheet *fleet, const JobSettings *settings);
