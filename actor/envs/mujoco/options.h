/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The options of MuJoCo's tasks (include/environment-options.h): how large a weight or a noise may be, and
 * which struct holds the values. */
#pragma once

#include <math.h>

#include "actor/envs/mujoco/engine.h"
#include "include/environment-options.h"

/* Generous, but no sum of rewards overflows. */
#define WEIGHT_MAX 1e6
#define NOISE_MAX  1e3

#define ENV_INSTANCE MujocoOptions

/* Members of a task: the keys that it takes, and how many of them v4 does not take (all or none, except for
 * the humanoid). */
#define MUJOCO_OPTIONS(rows)    .options = (rows), .n_options = sizeof(rows) / sizeof((rows)[0])
#define MUJOCO_V5_OPTIONS(rows) MUJOCO_OPTIONS(rows), .n_v5_options = sizeof(rows) / sizeof((rows)[0])
