/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/shares.h"

#include <assert.h>
#include <stdbool.h>

#include "lib/doubles.h"
#include "lib/space.h"

static float unit(double x) {
        /* written so that a NaN becomes 0 */
        if (!(x > 0))
                return 0.0f;
        return x < 1 ? (float) x : 1.0f;
}

/* The pace of a job: needed / (needed + got). It is computed from the smaller speed divided by the larger
 * one, so an infinite speed makes no NaN. */
static double pace_of(double needed, double got) {
        if (!(needed > 0))
                return 0;
        return got > needed ? 1 - 1 / (1 + needed / got) : 1 / (1 + got / needed);
}

void shares_spaces(ActordEnvSpec *ret) {
        assert(ret);

        ret->observation = space_of_numbers(SHARES_N_FEATURES, 0, 1);
        ret->action = space_of_choices(SHARES_N_ACTIONS);
}

void shares_features(
                const SharesJob *job, double cores, double demand_of_all, float ret[SHARES_N_FEATURES]) {
        double low = SHARES_WEIGHT_MIN, high = SHARES_WEIGHT_MAX;

        assert(job);
        assert(cores > 0);
        assert(ret);

        ret[SHARES_TIME_LEFT] = unit(job->time_left);
        ret[SHARES_WORK_LEFT] = unit(job->work_left);
        ret[SHARES_PACE] = unit(pace_of(job->needed, job->got));
        ret[SHARES_WEIGHT] = unit(double_log(job->weight / low) / double_log(high / low));
        ret[SHARES_DEMAND] = unit(job->demand / cores);
        ret[SHARES_CROWD] = demand_of_all > cores ? unit(1 - cores / demand_of_all) : 0.0f;
}

uint32_t shares_move(uint32_t weight, SharesAction action) {
        double moved = weight;

        if (action == SHARES_UP)
                moved *= SHARES_FACTOR;
        else if (action == SHARES_DOWN)
                moved /= SHARES_FACTOR;
        if (!(moved > SHARES_WEIGHT_MIN))
                return SHARES_WEIGHT_MIN;
        return moved < SHARES_WEIGHT_MAX ? (uint32_t) (moved + 0.5) : SHARES_WEIGHT_MAX;
}

double shares_smooth(double before, double measured) {
        return before < 0 ? measured : before + (measured - before) / SHARES_MEMORY;
}

void shares_divide(double cores, size_t n, const double weights[], const double demands[], double ret[]) {
        double left = cores;

        assert(cores >= 0);

        for (size_t i = 0; i < n; i++)
                ret[i] = 0;
        /* Each turn divides the remaining CPUs among the jobs that still want some. A job that wants no more
         * than its part gets what it wants, and takes no part in later turns. If there is no such job, the
         * turn is the last. */
        for (size_t turn = 0; turn < n; turn++) {
                double sum = 0, given = left;
                bool full = false;

                for (size_t i = 0; i < n; i++)
                        sum += ret[i] < demands[i] ? weights[i] : 0;
                if (!(sum > 0))
                        return;
                for (size_t i = 0; i < n; i++)
                        if (ret[i] < demands[i] && given * weights[i] / sum >= demands[i]) {
                                ret[i] = demands[i];
                                left -= demands[i];
                                full = true;
                        }
                if (full)
                        continue;
                for (size_t i = 0; i < n; i++)
                        if (ret[i] < demands[i])
                                ret[i] = given * weights[i] / sum;
                return;
        }
}
