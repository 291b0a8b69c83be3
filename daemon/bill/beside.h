/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The cost of a job's rounds in three ways: as functions, on servers that are kept from the first round to
 * the last, and on the nodes of a cluster. Pure: records and price sheets in, totals out. Each way makes a
 * usage that daemon/bill/price.c bills. So its cost equals the bill of a job that really ran that way. */
#pragma once

#include "daemon/bill/price.h"

/* X(name, word). */
#define BESIDE_WAYS(X) X(FUNCTIONS, "functions") X(SERVERS, "servers") X(NODES, "nodes")

typedef enum BesideWay {
#define X(name, word) BESIDE_##name,
        BESIDE_WAYS(X)
#undef X
                        _BESIDE_MAX,
} BesideWay;

typedef struct Beside {
        /* ran: the usage of the job as it ran; elsewhere: the same without nodes, where no rollout waits for
         * a node */
        Usage ran, elsewhere;
        uint64_t node_nsec; /* allocated to the job on all nodes together */
} Beside;

typedef struct BesideBill {
        const PriceSheet *sheet;
        const char *clock; /* the clock that the seconds are measured by */
        double seconds, paper, full;
        /* Both are freed by g_free(). assumes: the assumption behind the amounts, in words. unknown: why
         * there are no amounts; NULL if there are some. */
        char *assumes, *unknown;
} BesideBill;

const char *beside_to_string(BesideWay way);

/* Call this once for each record, in (life, seq) order. Records of work that a later life of the job
 * repeated have `wasted` set. */
void beside_add(Beside *beside, const PriceSheet *sheet, const JobSettings *settings, const Record *record);

/* Makes the bill for the job as if its rounds had run in this way. servers: the price sheet with the
 * servers; it may be `sheet` itself. */
void beside_make(const Beside *beside, BesideWay way, const PriceSheet *sheet, const PriceSheet *servers,
                const JobSettings *settings, BesideBill *ret);
void beside_bill_done(BesideBill *bill);
