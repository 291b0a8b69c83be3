/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Hopper: hop forward on one leg without falling. */
#include <math.h>

#include "actor/envs/mujoco/locomotion.h"
#include "actor/envs/mujoco/options.h"
#include "actor/envs/mujoco/tasks.h"

MUJOCO_MODEL(hopper);

static mjModel *hopper_model;

static const EnvOption hopper_options[] = { HOPPER_OPTIONS(ENV_OPTION) };

static const MujocoTask hopper_task = {
        .name = "Hopper",
        .xml = hopper_xml,
        .xml_end = hopper_xml_end,
        .model = &hopper_model,
        .frame_skip = 4,
        .horizon_steps = 1000,
        .solved_return = 3800,
        .seen_width = 4.5,
        .seen_height = 1.1,
        .velocity_limit = 10,
        MUJOCO_OPTIONS(hopper_options),
        .n_excluded = 1,
        .judge = locomotion_judge,
};

MUJOCO_ENV(hopper, 4, hopper_task);
MUJOCO_ENV(hopper, 5, hopper_task);
