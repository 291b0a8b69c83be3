/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Computes advantages and targets of values from rewards and values. A truncated episode is treated as if it
 * went on: the value of its last observation stands for the rewards to come. After a termination there are
 * no more rewards. */
#pragma once

#include <stdint.h>

typedef struct StepsIn {
        uint32_t steps, envs;
        const float *rewards;      /* [steps][envs] */
        const uint8_t *ends;       /* [steps][envs]: EndKind */
        const float *values;       /* [steps + 1][envs] */
        const float *final_values; /* of truncated episodes, in (step, env) order */
        uint32_t n_finals;
        double gamma;
        /* [steps + 1][envs]: 0 where an agent is not present. An agent that leaves gets no more rewards, and
         * rows without an agent have an advantage of 0. NULL: all are present */
        const uint8_t *active;
} StepsIn;

/* "High-Dimensional Continuous Control Using Generalized Advantage Estimation" (Schulman et al.). Both
 * results are [steps][envs]; target = advantage + value. */
void advantage_estimate(const StepsIn *in, double lambda, float *ret_advantage, float *ret_target);

typedef struct VtraceIn {
        const float *log_probability;           /* [steps][envs]: of the policy whose values are estimated */
        const float *behaviour_log_probability; /* of the policy that acted; any finite number */
        double rho_bar, c_bar;
} VtraceIn;

/* V-trace, "IMPALA: Scalable Distributed Deep-RL with Importance Weighted Actor-Learner Architectures"
 * (Espeholt et al. 2018), equation 1 in the recursive form of its remark 1. It makes targets for the values
 * of one policy from the steps of another policy. If both policies are the same and no weight is clipped,
 * the targets are n-step returns. The results are [steps][envs] each. An advantage is
 * clipped weight * (reward + gamma * next target - value). */
void vtrace_estimate(const StepsIn *in, const VtraceIn *policies, float *ret_advantage, float *ret_target);
