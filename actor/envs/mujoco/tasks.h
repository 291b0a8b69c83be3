/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The tasks of this module, one file each. */
#pragma once

#include "include/actord/env.h"

extern const ActordEnv ant_env, halfcheetah_env, hopper_env, humanoid_env, humanoidstandup_env,
                inverteddoublependulum_env, invertedpendulum_env, reacher_env, swimmer_env, walker2d_env;
