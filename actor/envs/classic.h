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
