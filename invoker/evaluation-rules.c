/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* When an evaluation is due, which answers about episodes are possible, and the mean of the episodes. */
#include "invoker/evaluation-rules.h"

#include <assert.h>
#include <math.h>

#include "lib/slot.h"

bool evaluation_is_due(const JobSettings *settings, uint64_t round, bool last) {
        assert(settings);
        assert(settings->evaluation_every > 0);

        return settings->evaluation_episodes > 0 &&
               (last || (round > 0 && round % settings->evaluation_every == 0));
}

bool evaluation_is_beside(const JobSettings *settings, bool last) {
        assert(settings);

        return !last && !settings_await_evaluations(settings);
}

bool evaluation_is_possible(const Answer *answer, uint32_t horizon_steps) {
        uint64_t most = horizon_steps > 0 ? horizon_steps : HORIZON_STEPS_MAX;

        assert(answer);

        return isfinite(answer->episode_return) && answer->n_steps > 0 && answer->n_steps <= most;
}

uint32_t evaluation_impossible_metric(const Answer *answer, uint32_t n) {
        assert(answer);
        assert(n <= ACTORD_METRICS_MAX);

        for (uint32_t i = 0; i < n; i++)
                if (!metric_possible(answer->metrics[i]))
                        return i + 1;
        return 0;
}

double evaluation_metric_mean(const double *metrics, uint64_t n) {
        uint64_t n_measured = 0;
        double sum = 0;

        for (uint64_t i = 0; i < n; i++) {
                if (isnan(metrics[i]))
                        continue;
                sum += metrics[i];
                n_measured++;
        }
        return n_measured > 0 ? sum / (double) n_measured : NAN;
}

void evaluation_summarise(const double *returns, uint64_t n, double *ret_mean, double *ret_sd) {
        double sum = 0, squares = 0, mean;

        assert(returns || n == 0);
        assert(ret_mean);
        assert(ret_sd);

        for (uint64_t i = 0; i < n; i++)
                sum += returns[i];
        mean = n > 0 ? sum / (double) n : NAN;
        for (uint64_t i = 0; i < n; i++)
                squares += (returns[i] - mean) * (returns[i] - mean);

        *ret_mean = mean;
        *ret_sd = n > 1 ? sqrt(squares / (double) (n - 1)) : NAN;
}
