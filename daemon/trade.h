/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One turn of the trade of CPU weight among the running jobs with [Scaling] Shares=simppo:NAME. Pure: from
 * what is known of each job to its new bid, and from all bids to the weights that the kernel gets. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "daemon/trade-policy.h"
#include "lib/shares.h"

#define TRADE_NO_ACTION (-1)
#define TRADE_TURN_USEC (2000ull * 1000)

/* No weight of the trade is outside of them. So a job has at least a quarter and at most four times the
 * weight of a job that does not trade. */
#define TRADE_WEIGHT_MIN 25u
#define TRADE_WEIGHT_MAX 400u

typedef struct Trader {
        const TradePolicy *policy; /* NULL: it has the trade for itself, so it makes no decision */
        SharesJob job;             /* its weight is the bid, which trade() replaces */
        int last;        /* the action of its last turn, which trade() replaces; TRADE_NO_ACTION: none */
        uint32_t user;   /* whose job it is */
        uint32_t weight; /* as the kernel has it */
} Trader;

/* All decide at once: each from its own features and the means over the others, as it was trained. */
void trade(Trader traders[], size_t n, double cores);

/* Weights in proportion to the bids, as far as the limits above allow. Over the jobs of one user, each
 * counted by its demand, their mean is SHARES_WEIGHT_DEFAULT: a user's jobs trade with each other. While
 * none of a user's weights would move by 5 %, they stay what they are, except that one may go back to the
 * default. */
void trade_weights(const Trader traders[], size_t n, uint32_t ret[]);

/* The speed of a job. Its progress is known only as of the end of a round, which may take many turns. */
typedef struct TradeSpeed {
        double changed;      /* seconds of a clock: when news was seen last, or it was first looked at */
        double done;         /* then: the share of its work that was done */
        double mean;         /* the running mean, in shares of its work in a second */
        double longest;      /* seconds of the longest round so far; 0: none was seen as a whole */
        bool begun, rounded; /* it was looked at; a round's end was seen */
} TradeSpeed;

/* Its speed now, in shares of its work in a second. elapsed: the seconds for which it has worked in all;
 * the mean over them is its speed until a whole round was seen. A job whose round takes longer than all
 * before it is ever slower. */
double trade_speed(TradeSpeed *speed, double now, double done, double elapsed);

/* What must be known of a job to tell whether it trades, and whether it needs another weight without it. */
typedef struct TradeState {
        bool trains, running, ending; /* running: or it begins. ending: it has a process yet */
        bool off;                     /* it cannot trade, which was logged */
        bool stale;                   /* the last question failed: the kernel may have another weight */
        uint32_t weight;              /* as the kernel has it; 0: not known */
        unsigned n_failed;            /* questions in a row */
        unsigned n_resets;            /* how often the default was asked for, since it trades no more */
} TradeState;

/* Notes the answer to a question about its weight; error: 0, or a negative errno. Returns whether it can
 * trade no more: the host knows no weights, or too many questions have failed. */
bool trade_note(TradeState *state, int error, uint32_t weight);

/* Whether it may trade. */
bool trade_may(const TradeState *state);

/* Whether it may trade, but has or may have another weight than a job that trades with none. */
bool trade_is_unequal(const TradeState *state);

/* Whether it left the trade with another weight than the default, which it should get back. A few tries are
 * made. */
bool trade_is_left(const TradeState *state);
