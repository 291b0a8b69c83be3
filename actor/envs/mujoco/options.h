/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rows of the tasks' option tables, and how large a weight or a noise may be. */
#pragma once

#include <math.h>

#include "actor/envs/mujoco/engine.h"

/* Generous, but such that no sum of rewards overflows. */
#define WEIGHT_MAX 1e6
#define NOISE_MAX  1e3

#define NUMBER(key, field, low, high) \
        { key, ENV_OPTION_NUMBER, offsetof(MujocoOptions, field), low, high }
#define BOOL(key, field) \
        { key, ENV_OPTION_BOOL, offsetof(MujocoOptions, field) }
