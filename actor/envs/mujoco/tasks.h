/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The tasks of this module, one file each, by both of Gymnasium's definitions. */
#pragma once

#include "include/actord/env.h"

extern const ActordEnv ant_v4_env, halfcheetah_v4_env, hopper_v4_env, humanoid_v4_env,
                humanoidstandup_v4_env, inverteddoublependulum_v4_env, invertedpendulum_v4_env,
                pusher_v4_env, reacher_v4_env, swimmer_v4_env, walker2d_v4_env;
extern const ActordEnv ant_v5_env, halfcheetah_v5_env, hopper_v5_env, humanoid_v5_env,
                humanoidstandup_v5_env, inverteddoublependulum_v5_env, invertedpendulum_v5_env,
                pusher_v5_env, reacher_v5_env, swimmer_v5_env, walker2d_v5_env;
