/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Robots that are paid for moving forward: Gymnasium gives them one reward with different constants. */
#pragma once

#include "actor/envs/mujoco/engine.h"

/* weight * velocity + healthy reward - cost of control; ends when the robot falls, unless it may not. */
void locomotion_judge(const MujocoInstance *m, double velocity, double ctrl_squares, ActordStep *ret);
