/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Goes backwards in time, row by row: the next step's advantage is already in the next row. */
#include "learner/algorithm/advantage.h"

#include <assert.h>
#include <stddef.h>

#include "include/slot.h"

void advantage_estimate(const AdvantageIn *in, float *ret_advantage, float *ret_target) {
        uint32_t final;

        assert(in);
        assert(ret_advantage);
        assert(ret_target);

        final = in->n_finals;
        for (uint32_t row = in->steps * in->envs; row-- > 0;) {
                uint32_t next = row + in->envs;
                double value = (double) in->values[row], next_value = 0.0, next_advantage = 0.0, delta;

                if (in->ends[row] == END_NOT) {
                        next_value = (double) in->values[next];
                        if (next < in->steps * in->envs)
                                next_advantage = (double) ret_advantage[next];
                } else if (in->ends[row] == END_TRUNCATED) {
                        assert(final > 0);
                        next_value = (double) in->final_values[--final];
                }

                delta = (double) in->rewards[row] + in->gamma * next_value - value;
                ret_advantage[row] = (float) (delta + in->gamma * in->lambda * next_advantage);
                ret_target[row] = (float) ((double) ret_advantage[row] + value);
        }
        assert(final == 0);
}
