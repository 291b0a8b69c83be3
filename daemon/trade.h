/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One turn of the trade of CPU weight among the running jobs with [Scaling] Shares=simppo:NAME. Pure: from
 * what is known of each job to its new bid, and from all bids to the weights that the kernel gets. */
#pragma once

#include <stddef.h>

#include "daemon/trade-policy.h"
#include "lib/shares.h"

#define TRADE_NO_ACTION (-1)

typedef struct Trader {
        const TradePolicy *policy;
        SharesJob job; /* its weight is the bid, which trade() replaces */
        int last;      /* the action of its last turn, which trade() replaces; TRADE_NO_ACTION: none */
} Trader;

/* All decide at once: each from its own features and the means over the others, as it was trained. */
void trade(Trader traders[], size_t n, double cores);

/* Weights in proportion to the bids, with a mean of SHARES_WEIGHT_DEFAULT. So jobs that do not trade, which
 * have the default, neither lose nor win by the trade of the others. */
void trade_weights(const Trader traders[], size_t n, uint32_t ret[]);
