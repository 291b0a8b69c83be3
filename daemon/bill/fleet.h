/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A job's bill beside that of a fleet of servers, which is paid for as long as it exists. Pure: what was
 * used and two price sheets in, a comparison out.
 *
 * Functions cost while they run, servers while they are there. So which is cheaper depends on the duty
 * cycle, the share of its time that a fleet has something to train: they are even where it is (price of
 * the fleet's hour) / (price of an hour of training as functions). Beyond 1 no fleet that is ever so busy
 * is worth it. */
#pragma once

#include "daemon/bill/price.h"

typedef struct Fleet {
        double hour; /* what the fleet costs for one */
        double emulated,
                        /* what it costs for the job's rounds, with its start-up: on a fleet's clock, and
                         * on this host's */
                        wall;
        double even_emulated,
                        even_wall; /* the duty cycles; NaN: the job has cost nothing yet, or took no time */
} Fleet;

/* What training cost as functions, without evaluations: a fleet would play them beside the next round. */
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
