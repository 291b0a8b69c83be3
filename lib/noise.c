/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/noise.h"

#include <assert.h>

#include "lib/forward.h"

static const double NOISE_RETURN = 0.15;

void noise_step(const Network *network, double *process, ActordRandom *random, float *action) {
        assert(network->noise_carried);

        for (uint32_t i = 0; i < network->n_action; i++) {
                double x;

                process[i] += -NOISE_RETURN * process[i] +
                              network->action_noise * actord_random_normal(random);
                x = action[i] + action_reach(network) * process[i];
                x = x > network->action_high ? network->action_high : x;
                action[i] = (float) (x < network->action_low ? network->action_low : x);
        }
}
