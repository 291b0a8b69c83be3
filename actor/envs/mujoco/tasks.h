/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The tasks of this module by both of Gymnasium's definitions (v4 and v5), and their options: the largest
 * weights and noises, and the struct with the values. include/environment-options.h has the rows. */
#pragma once

#include <math.h>

#include "actor/envs/mujoco/engine.h"
#include "include/actord/env.h"
#include "include/environment-options.h"

extern const ActordEnv ant_v4_env, halfcheetah_v4_env, hopper_v4_env, humanoid_v4_env,
                humanoidstandup_v4_env, inverteddoublependulum_v4_env, invertedpendulum_v4_env,
                pusher_v4_env, reacher_v4_env, swimmer_v4_env, walker2d_v4_env;
extern const ActordEnv ant_v5_env, halfcheetah_v5_env, hopper_v5_env, humanoid_v5_env,
                humanoidstandup_v5_env, inverteddoublependulum_v5_env, invertedpendulum_v5_env,
                pusher_v5_env, reacher_v5_env, swimmer_v5_env, walker2d_v5_env;

/* Large enough for users, and small enough that no sum of rewards overflows. */
#define WEIGHT_MAX 1e6
#define NOISE_MAX  1e3

#define ENV_INSTANCE MujocoOptions

/* The keys of a task. MUJOCO_OPTIONS: v4 of the task has them, too; MUJOCO_V5_OPTIONS: v4 has none. The
 * humanoid's v4 lacks only some. */
#define MUJOCO_OPTIONS(rows)    .options = (rows), .n_options = sizeof(rows) / sizeof((rows)[0])
#define MUJOCO_V5_OPTIONS(rows) MUJOCO_OPTIONS(rows), .n_v5_options = sizeof(rows) / sizeof((rows)[0])
