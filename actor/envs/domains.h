/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tasks of domains to which serverless and safe reinforcement learning is applied, one file each. What a
 * paper states is taken from it and cited; the rest is a model of our own, as the file's first comment says.
 * Each has a few doubles of state and a small step, so all are built in. */
#pragma once

#include "include/actord/env.h"

extern const ActordEnv phydrl_cartpole_env;
extern const ActordEnv iot5g_discrete_env, iot5g_continuous_env;
extern const ActordEnv faas_env;
extern const ActordEnv two_ponds_env;
