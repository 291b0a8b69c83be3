/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* "High-Dimensional Continuous Control Using Generalized Advantage Estimation" (Schulman et al.). A
 * truncated episode counts as if it went on: the value of its last observation stands for the rewards to
 * come. After a termination there are none. */
#pragma once

#include <stdint.h>

typedef struct AdvantageIn {
        uint32_t steps, envs;
        const float *rewards;      /* [steps][envs] */
        const uint8_t *ends;       /* [steps][envs]: EndKind */
        const float *values;       /* [steps + 1][envs] */
        const float *final_values; /* of truncated episodes, in (step, env) order */
        uint32_t n_finals;
        double gamma, lambda;
} AdvantageIn;

/* [steps][envs] each; target = advantage + value */
void advantage_estimate(const AdvantageIn *in, float *ret_advantage, float *ret_target);
