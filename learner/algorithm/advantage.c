/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* GAE and V-trace go backwards in time, row by row, so the next step's result is already known. */
#include "learner/algorithm/advantage.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "include/slot.h"
#include "lib/doubles.h"

static bool is_there(const StepsIn *in, uint32_t row) {
        return !in->active || in->active[row];
}

/* A row's result needs two numbers of the next row: `value` of its state, and `later`, the next row's
 * result. *final: how many values after truncated episodes (final_values) are not used yet; the last one is
 * used first. */
typedef struct Next {
        double value, later;
} Next;

static Next next_of(const StepsIn *in, uint32_t row, const float *later, uint32_t *final) {
        uint32_t next = row + in->envs;

        if (in->ends[row] == END_TRUNCATED) {
                assert(*final > 0);
                return (Next){ .value = (double) in->final_values[--*final] };
        }
        if (in->ends[row] != END_NOT || !is_there(in, next))
                return (Next){};
        return (Next){
                .value = (double) in->values[next],
                .later = next < in->steps * in->envs ? (double) later[next] : 0.0,
        };
}

void advantage_estimate(const StepsIn *in, double lambda, float *ret_advantage, float *ret_target) {
        uint32_t final;

        assert(in);
        assert(ret_advantage);
        assert(ret_target);

        final = in->n_finals;
        for (uint32_t row = in->steps * in->envs; row-- > 0;) {
                Next next = next_of(in, row, ret_advantage, &final);
                double value = (double) in->values[row];
                double delta = (double) in->rewards[row] + in->gamma * next.value - value;

                ret_advantage[row] =
                                is_there(in, row) ? (float) (delta + in->gamma * lambda * next.later) : 0.0f;
                ret_target[row] = (float) ((double) ret_advantage[row] + value);
        }
        assert(final == 0);
}

/* The target v of a row is computed as its difference from the value V, since the row before needs this
 * difference. The difference is small even if v is large, so rounding loses little. The last loop adds V. */
void vtrace_estimate(const StepsIn *in, const VtraceIn *policies, float *ret_advantage, float *ret_target) {
        uint32_t final, n_rows;

        assert(in);
        assert(policies);
        assert(ret_advantage);
        assert(ret_target);

        n_rows = in->steps * in->envs;
        final = in->n_finals;
        for (uint32_t row = n_rows; row-- > 0;) {
                Next next = next_of(in, row, ret_target, &final);
                double ratio = double_exp((double) policies->log_probability[row] -
                                          (double) policies->behaviour_log_probability[row]);
                double rho = fmin(policies->rho_bar, ratio), c = fmin(policies->c_bar, ratio);
                double delta = rho * ((double) in->rewards[row] + in->gamma * next.value -
                                                     (double) in->values[row]);

                ret_target[row] = (float) (delta + in->gamma * c * next.later);
                ret_advantage[row] = (float) (delta + in->gamma * rho * next.later);
                if (!is_there(in, row))
                        ret_target[row] = ret_advantage[row] = 0.0f;
        }
        assert(final == 0);

        for (uint32_t row = 0; row < n_rows; row++)
                ret_target[row] = (float) ((double) ret_target[row] + (double) in->values[row]);
}
