/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/trade.h"

#include <assert.h>

/* The sums over all, of which an agent takes away its own part: a decision costs the same among any number
 * of jobs (lib/company.c). */
typedef struct Sums {
        double features[SHARES_N_FEATURES];
        double actions[SHARES_N_ACTIONS];
        size_t n, n_acted;
        double demand;
} Sums;

static float mean_of_others(double sum, double own, size_t n_others) {
        double mean = n_others > 0 ? (sum - own) / (double) n_others : 0;

        /* The subtraction may round to a number outside of the bounds. */
        if (!(mean > 0))
                return 0.0f;
        return mean < 1 ? (float) mean : 1.0f;
}

static SharesAction decide(const Trader *trader, const Sums *sums, double cores) {
        float inputs[SHARES_N_INPUTS];
        bool acted = trader->last != TRADE_NO_ACTION;

        shares_features(&trader->job, cores, sums->demand, inputs);
        for (size_t k = 0; k < SHARES_N_FEATURES; k++)
                inputs[SHARES_N_FEATURES + k] =
                                mean_of_others(sums->features[k], (double) inputs[k], sums->n - 1);
        for (size_t k = 0; k < SHARES_N_ACTIONS; k++)
                inputs[2 * SHARES_N_FEATURES + k] = mean_of_others(
                                sums->actions[k], trader->last == (int) k, sums->n_acted - acted);
        return trade_policy_choose(trader->policy, inputs);
}

void trade(Trader traders[], size_t n, double cores) {
        Sums sums = { .n = n };

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

        /* None sees an action of this turn: the sums are those of the last one. */
        for (size_t i = 0; i < n; i++) {
                SharesAction action = decide(&traders[i], &sums, cores);

                traders[i].job.weight = shares_move(traders[i].job.weight, action);
                traders[i].last = (int) action;
        }
}

void trade_weights(const Trader traders[], size_t n, uint32_t ret[]) {
        double sum = 0;

        assert(traders || n == 0);
        assert(ret || n == 0);

        for (size_t i = 0; i < n; i++)
                sum += traders[i].job.weight;
        for (size_t i = 0; i < n; i++) {
                double weight = SHARES_WEIGHT_DEFAULT * (double) n * traders[i].job.weight / sum;

                ret[i] = (uint32_t) (CLAMP(weight, 1, SHARES_KERNEL_MAX) + 0.5);
        }
}
