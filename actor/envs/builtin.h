/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The environments that are built into the programs that act, with one file for each task. They are rows of
 * one table, and are called through the same ABI as plugins. */
#pragma once

#include "include/actord/env.h"

/* The environment of this name; NULL: it is not built in. */
const ActordEnv *builtin_env_find(const char *name);

/* The definitions of Gymnasium's classic_control: the same dynamics, with the same order of operations in
 * double precision, so that results can be compared with published ones. Observations are rounded to
 * float32. */
extern const ActordEnv cartpole_v0_env, cartpole_v1_env;
extern const ActordEnv pendulum_v1_env;
extern const ActordEnv acrobot_v1_env;
extern const ActordEnv catch_v0_env; /* not of Gymnasium, and its observations are bytes: catch.c */
extern const ActordEnv mountaincar_v0_env, mountaincar_continuous_v0_env;

/* Tasks from fields that use serverless and safe reinforcement learning. Facts that a paper states are taken
 * from the paper, and it is cited. The rest is actord's own model, as each file's first comment says. */
extern const ActordEnv phydrl_cartpole_env;
extern const ActordEnv iot5g_discrete_env, iot5g_continuous_env;
extern const ActordEnv faas_env;
extern const ActordEnv shares_env;
extern const ActordEnv two_ponds_env;
