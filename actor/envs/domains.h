/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tasks of the domains that serverless and safe reinforcement learning is applied to, one file each: what
 * a paper states is taken from it and named, the rest is a model of our own and says so in the file's
 * first comment. Each is a few doubles and a small step, so that all are built in. */
#pragma once

#include "include/actord/env.h"

extern const ActordEnv phydrl_cartpole_env;
extern const ActordEnv iot5g_discrete_env, iot5g_continuous_env;
extern const ActordEnv faas_env;
extern const ActordEnv two_ponds_env;
