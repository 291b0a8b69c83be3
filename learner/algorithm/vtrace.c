/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Goes backwards in time, row by row. Until all rows are done a target holds only v - V, which the row
 * before it reads: the difference is small where v is large, so that little is lost to rounding. */
#include "learner/algorithm/vtrace.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

#include "include/slot.h"
#include "lib/doubles.h"

void vtrace_estimate(const VtraceIn *in, float *ret_advantage, float *ret_target) {
        uint32_t final, n_rows;

        assert(in);
        assert(ret_advantage);
        assert(ret_target);

        n_rows = in->steps * in->envs;
        final = in->n_finals;
        for (uint32_t row = n_rows; row-- > 0;) {
                uint32_t next = row + in->envs;
                double ratio = double_exp((double) in->log_probability[row] -
                                          (double) in->behaviour_log_probability[row]);
                double rho = fmin(in->rho_bar, ratio), c = fmin(in->c_bar, ratio);
                double value = (double) in->values[row], next_value = 0.0, next_added = 0.0, delta;

                if (in->ends[row] == END_NOT) {
                        next_value = (double) in->values[next];
                        if (next < n_rows)
                                next_added = (double) ret_target[next];
                } else if (in->ends[row] == END_TRUNCATED) {
                        assert(final > 0);
                        next_value = (double) in->final_values[--final];
                }

                delta = rho * ((double) in->rewards[row] + in->gamma * next_value - value);
                ret_target[row] = (float) (delta + in->gamma * c * next_added);
                ret_advantage[row] = (float) (delta + in->gamma * rho * next_added);
        }
        assert(final == 0);

        for (uint32_t row = 0; row < n_rows; row++)
                ret_target[row] = (float) ((double) ret_target[row] + (double) in->values[row]);
}
