/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Running jobs with [Scaling] Shares=simppo:NAME trade CPU weight (cpu.weight of their cgroups). This file
 * computes one turn of the trade. Pure: the state of each job gives its new bid, and all bids together give
 * the weights for the kernel. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "daemon/trade-policy.h"
#include "lib/shares.h"

#define TRADE_NO_ACTION (-1)
#define TRADE_TURN_USEC (2000ull * 1000)

/* The limits of the CPU weight that a job gets by trading: a quarter of, and four times, the weight of a job
 * that does not trade. */
#define TRADE_WEIGHT_MIN 25u
#define TRADE_WEIGHT_MAX 400u

typedef struct Trader {
        const TradePolicy *policy; /* NULL: no other job trades, so this one makes no decision */
        SharesJob job;             /* job.weight is the bid, which trade() replaces */
        int last;        /* the action of the last turn, which trade() replaces; TRADE_NO_ACTION: none */
        uint32_t user;   /* the job's owner */
        uint32_t weight; /* cpu.weight of the job's cgroup */
} Trader;

/* Makes the decisions of all traders for one turn. A trader's policy sees its own features and the means
 * over the others, as in training. cores: CPUs of the host. */
void trade(Trader traders[], size_t n, double cores);

/* Computes the weights of all traders, in proportion to their bids, from TRADE_WEIGHT_MIN to
 * TRADE_WEIGHT_MAX. The mean weight of one user's jobs, each counted by its demand, is
 * SHARES_WEIGHT_DEFAULT, so no user gains from the jobs of another. A user's weights change only if one of
 * them would change by 5 % or more, or go back to the default. */
void trade_weights(const Trader traders[], size_t n, uint32_t ret[]);

/* The speed of a job. Its progress is known only as of the end of a round, which may take many turns. */
typedef struct TradeSpeed {
        double changed;      /* the clock's seconds when `done` last grew, or at the first look */
        double done;         /* the share of the job's work that was done at `changed` */
        double mean;         /* the running mean of the speed, in shares of the work in a second */
        double longest;      /* seconds of the longest whole round so far; 0: none yet */
        bool begun, rounded; /* there was a first look; a round's end was seen */
} TradeSpeed;

/* The job's speed now, in shares of its work in a second. elapsed: the seconds that the job has worked in
 * all. Until a whole round was seen, the speed is the mean over this time. While a round takes longer than
 * all rounds before it, the speed falls. */
double trade_speed(TradeSpeed *speed, double now, double done, double elapsed);

/* The facts that decide whether a job trades, and whether a job that does not trade must get the default
 * weight. */
typedef struct TradeState {
        bool trains, running, ending; /* running: it starts or runs; ending: its process still exists */
        bool off;                     /* the job cannot trade, which was logged */
        bool stale;                   /* the last question to the spawner failed: `weight` may be wrong */
        uint32_t weight;              /* cpu.weight of the job's cgroup; 0: not known */
        unsigned n_failed;            /* questions to the spawner that failed in a row */
        unsigned n_resets;            /* how often the default weight was requested after trading ended */
} TradeState;

/* Notes the spawner's answer to a question about the job's weight; error: 0, or a negative errno. Returns
 * true if the job can trade no more: the host has no weights, or too many questions have failed. */
bool trade_note(TradeState *state, int error, uint32_t weight);

/* Whether the job may trade: it trains, it is running, and trading has not failed for good. */
bool trade_may(const TradeState *state);

/* Whether the job may trade and has, or perhaps has, another weight than the default. */
bool trade_is_unequal(const TradeState *state);

/* Whether the job no longer trades but has, or perhaps has, another weight than the default, so that the
 * daemon must set the default. The daemon tries RESETS_MAX times. */
bool trade_is_left(const TradeState *state);
