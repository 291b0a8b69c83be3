/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* HalfCheetah: run forward on two legs in a plane. It may roll over, but no episode ends by it. */
#include <math.h>

#include "actor/envs/mujoco/locomotion.h"
#include "actor/envs/mujoco/options.h"
#include "actor/envs/mujoco/tasks.h"

MUJOCO_MODEL(halfcheetah);

static mjModel *halfcheetah_model;

static const EnvOption halfcheetah_options[] = { HALFCHEETAH_OPTIONS(ENV_OPTION) };

static const MujocoTask halfcheetah_task = {
        .name = "HalfCheetah",
        .xml = halfcheetah_xml,
        .xml_end = halfcheetah_xml_end,
        .model = &halfcheetah_model,
        .frame_skip = 5,
        .horizon_steps = 1000,
        .solved_return = 4800,
        .seen_width = 4.5,
        .seen_height = 0.9,
        .velocity_limit = INFINITY,
        .velocity_noise_normal = true,
        MUJOCO_OPTIONS(halfcheetah_options),
        .n_excluded = 1,
        .judge = locomotion_judge,
};

MUJOCO_ENV(halfcheetah, 4, halfcheetah_task);
MUJOCO_ENV(halfcheetah, 5, halfcheetah_task);
