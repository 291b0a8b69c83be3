/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the rows of include/environment-options.h mean for a task of MuJoCo: how large a weight or a noise
 * may be, and where the values go. */
#pragma once

#include <math.h>

#include "actor/envs/mujoco/engine.h"
#include "include/environment-options.h"

/* Generous, but such that no sum of rewards overflows. */
#define WEIGHT_MAX 1e6
#define NOISE_MAX  1e3

#define ENV_INSTANCE MujocoOptions

/* Of a task: the keys that it takes, and those of them, all or none but for the humanoid, that v4 does
 * not. */
#define MUJOCO_OPTIONS(rows)    .options = (rows), .n_options = sizeof(rows) / sizeof((rows)[0])
#define MUJOCO_V5_OPTIONS(rows) MUJOCO_OPTIONS(rows), .n_v5_options = sizeof(rows) / sizeof((rows)[0])
