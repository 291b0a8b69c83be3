/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tasks with a humanoid body share. */
#pragma once

#include "actor/envs/mujoco/engine.h"

enum { HUMANOID_N_OBSERVATION = 376 };

/* The usual observation; inertia and velocity of each body, forces of the motors, forces from outside on
 * each body. */
uint32_t humanoid_observe(const MujocoInstance *m, float *ret, uint32_t n);
