/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/trade.h"

#include <assert.h>
#include <errno.h>
#include <math.h>

#include "lib/company.h"
#include "lib/doubles.h"

/* How many questions to the spawner may fail in a row before a job stops trading, and how often the daemon
 * then asks for the default weight. */
enum { FAILURES_MAX = 5, RESETS_MAX = 5 };

/* Sums over all traders. Each decision subtracts its trader's own part to get the mean over the others, so
 * it takes the same time among any number of jobs (lib/company.c). */
typedef struct Sums {
        double features[SHARES_N_FEATURES];
        double actions[SHARES_N_ACTIONS];
        uint32_t n, n_acted;
        double demand;
} Sums;

static SharesAction decide(const Trader *trader, const Sums *sums, double cores) {
        float inputs[SHARES_N_INPUTS];
        bool acted = trader->last != TRADE_NO_ACTION;

        shares_features(&trader->job, cores, sums->demand, inputs);
        for (size_t k = 0; k < SHARES_N_FEATURES; k++)
                inputs[SHARES_N_FEATURES + k] =
                                company_mean(sums->features[k], (double) inputs[k], sums->n - 1, 0, 1);
        for (size_t k = 0; k < SHARES_N_ACTIONS; k++)
                inputs[2 * SHARES_N_FEATURES + k] = company_mean(
                                sums->actions[k], trader->last == (int) k, sums->n_acted - acted, 0, 1);
        return trade_policy_choose(trader->policy, inputs);
}

void trade(Trader traders[], size_t n, double cores) {
        Sums sums = { .n = (uint32_t) n };

        assert(traders || n == 0);
        assert(cores > 0);

        for (size_t i = 0; i < n; i++)
                sums.demand += traders[i].job.demand;
        for (size_t i = 0; i < n; i++) {
                float own[SHARES_N_FEATURES];

                shares_features(&traders[i].job, cores, sums.demand, own);
                for (size_t k = 0; k < SHARES_N_FEATURES; k++)
                        sums.features[k] += (double) own[k];
                if (traders[i].last == TRADE_NO_ACTION)
                        continue;
                sums.actions[traders[i].last]++;
                sums.n_acted++;
        }

        /* No trader sees an action of this turn: the sums hold the actions of the last turn. */
        for (size_t i = 0; i < n; i++) {
                SharesAction action = decide(&traders[i], &sums, cores);

                traders[i].job.weight = shares_move(traders[i].job.weight, action);
                traders[i].last = (int) action;
        }
}

/* A job's weight before rounding: its bid times `scale`, within the limits. */
static double unrounded(const Trader *trader, double scale) {
        return CLAMP(trader->job.weight * scale, TRADE_WEIGHT_MIN, TRADE_WEIGHT_MAX);
}

static uint32_t scaled(const Trader *trader, double scale) {
        return (uint32_t) (unrounded(trader, scale) + 0.5);
}

/* How far the scale is too high: the sum over the user's jobs of demand times (weight - default). The sum
 * rises with the scale, and is 0 when the mean of the weights, weighted by the demands, is the default. */
static double excess(const Trader traders[], size_t n, uint32_t user, double scale) {
        double sum = 0;

        for (size_t i = 0; i < n; i++)
                if (traders[i].user == user)
                        sum += traders[i].job.demand *
                               (unrounded(&traders[i], scale) - SHARES_WEIGHT_DEFAULT);
        return sum;
}

/* Finds the scale with which the user's mean weight is the default. At scale 0 all weights are
 * TRADE_WEIGHT_MIN, and at the upper end of the interval all are TRADE_WEIGHT_MAX. */
static double scale_of(const Trader traders[], size_t n, uint32_t user) {
        double low = 0, high = (double) TRADE_WEIGHT_MAX / SHARES_WEIGHT_MIN;

        for (unsigned i = 0; i < 50; i++) {
                double middle = (low + high) / 2;

                if (excess(traders, n, user, middle) < 0)
                        low = middle;
                else
                        high = middle;
        }
        return high;
}

static bool is_far(uint32_t weight, uint32_t wanted) {
        uint32_t distance = weight > wanted ? weight - wanted : wanted - weight;

        return distance > 0 && (wanted == SHARES_WEIGHT_DEFAULT || distance * 20 >= weight);
}

static void weigh_user(const Trader traders[], size_t n, uint32_t user, uint32_t ret[]) {
        double scale = scale_of(traders, n, user);
        bool far = false;

        for (size_t i = 0; i < n; i++)
                far = far ||
                      (traders[i].user == user && is_far(traders[i].weight, scaled(&traders[i], scale)));
        for (size_t i = 0; i < n; i++)
                if (traders[i].user == user)
                        ret[i] = far ? scaled(&traders[i], scale) : traders[i].weight;
}

void trade_weights(const Trader traders[], size_t n, uint32_t ret[]) {
        assert(traders || n == 0);
        assert(ret || n == 0);

        for (size_t i = 0; i < n; i++) {
                size_t first = 0;

                assert(traders[i].job.weight >= SHARES_WEIGHT_MIN && traders[i].job.demand > 0);
                while (traders[first].user != traders[i].user)
                        first++;
                if (first == i)
                        weigh_user(traders, n, traders[i].user, ret);
        }
}

double trade_speed(TradeSpeed *speed, double now, double done, double elapsed) {
        double span;
        bool news;

        assert(speed);

        if (!speed->begun || done < speed->done)
                *speed = (TradeSpeed){ .changed = now, .done = done, .begun = true };
        span = now - speed->changed;
        news = done > speed->done && span > 0;
        if (news && speed->rounded) {
                double turns = span * 1e6 / (double) TRADE_TURN_USEC;
                double keep = double_exp(double_log(1 - 1 / SHARES_MEMORY) * turns);

                speed->mean = keep * speed->mean + (1 - keep) * (done - speed->done) / span;
                speed->longest = fmax(speed->longest, span);
        } else if (!(speed->longest > 0))
                speed->mean = elapsed > 0 ? done / elapsed : 0;
        if (news) {
                speed->rounded = true;
                speed->changed = now;
                speed->done = done;
                span = 0;
        }
        return speed->longest > 0 && span > speed->longest ? speed->mean * speed->longest / span
                                                           : speed->mean;
}

bool trade_note(TradeState *state, int error, uint32_t weight) {
        assert(state);

        if (error == -EOPNOTSUPP)
                return true;
        state->stale = error < 0;
        if (error < 0)
                return ++state->n_failed >= FAILURES_MAX;
        state->n_failed = 0;
        state->weight = weight;
        return false;
}

bool trade_may(const TradeState *state) {
        assert(state);

        return state->trains && state->running && !state->off;
}

bool trade_is_unequal(const TradeState *state) {
        return trade_may(state) && (state->stale || state->weight != SHARES_WEIGHT_DEFAULT);
}

/* Whether the daemon must still give the default weight to a job that no longer trades. A weight that the
 * daemon has never known (0) was never changed. */
bool trade_is_left(const TradeState *state) {
        assert(state);

        return state->trains && (state->ending || (state->running && state->off)) && state->weight > 0 &&
               (state->stale || state->weight != SHARES_WEIGHT_DEFAULT) && state->n_resets < RESETS_MAX;
}
