/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Swimmer: a chain of three links swims in a plane by bending its two joints. No episode ends early. */
#include <math.h>

#include "actor/envs/mujoco/locomotion.h"
#include "actor/envs/mujoco/options.h"
#include "actor/envs/mujoco/tasks.h"

MUJOCO_MODEL(swimmer);

static mjModel *swimmer_model;

static const EnvOption swimmer_options[] = { SWIMMER_OPTIONS(ENV_OPTION) };

static const MujocoTask swimmer_task = {
        .name = "Swimmer",
        .xml = swimmer_xml,
        .xml_end = swimmer_xml_end,
        .model = &swimmer_model,
        .frame_skip = 4,
        .horizon_steps = 1000,
        .solved_return = 360,
        .seen = MUJOCO_SEEN_ABOVE,
        .seen_width = 7.5,
        .velocity_limit = INFINITY,
        MUJOCO_OPTIONS(swimmer_options),
        .n_excluded = 2,
        .judge = locomotion_judge,
};

MUJOCO_ENV(swimmer, 4, swimmer_task);
MUJOCO_ENV(swimmer, 5, swimmer_task);
