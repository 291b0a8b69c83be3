/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The tasks that are built in, one file each. The classic control tasks have the definitions of
 * Gymnasium's classic_control: the same dynamics in the same order of operations in double precision, so
 * that results can be compared with published ones. Observations are their float32 roundings. */
#pragma once

#include "include/actord/env.h"

extern const ActordEnv cartpole_v0_env, cartpole_v1_env;
extern const ActordEnv pendulum_v1_env;
extern const ActordEnv acrobot_v1_env;
extern const ActordEnv catch_v0_env;
extern const ActordEnv mountaincar_v0_env, mountaincar_continuous_v0_env;

/* The functions about the physical state, for a task whose snapshot is its state vector of n doubles and
 * nothing else. */
#define CLASSIC_STATE(task, n)                                                                    \
        static int task##_state_parts(const void *instance, ActordStatePart *ret) {               \
                ret[0] = (ActordStatePart){ .name = "state", .n_numbers = (n) };                  \
                return 1;                                                                         \
        }                                                                                         \
        static int task##_get_state(const void *instance, double *ret) {                          \
                return task##_snapshot(instance, ret);                                            \
        }                                                                                         \
        static int task##_set_state(void *instance, const double *state, void *ret_observation) { \
                int r = task##_restore(instance, state);                                          \
                                                                                                  \
                if (r < 0)                                                                        \
                        return r;                                                                 \
                task##_observe(instance, ret_observation);                                        \
                return 0;                                                                         \
        }

#define CLASSIC_STATE_OF(task) \
        .state_parts = task##_state_parts, .get_state = task##_get_state, .set_state = task##_set_state
