/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Hopper: hop forward on one leg without falling. */
#include <math.h>

#include "actor/envs/mujoco/locomotion.h"
#include "actor/envs/mujoco/tasks.h"

MUJOCO_MODEL(hopper);

static mjModel *hopper_model;

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
        .options = locomotion_options,
        .n_options = LOCOMOTION_N_ALL,
        .defaults = {
                .forward_reward_weight = 1,
                .ctrl_cost_weight = 1e-3,
                .healthy_reward = 1,
                .terminate_when_unhealthy = true,
                .healthy_state_min = -100,
                .healthy_state_max = 100,
                .healthy_z_min = 0.7,
                .healthy_z_max = INFINITY,
                .healthy_angle_min = -0.2,
                .healthy_angle_max = 0.2,
                .reset_noise_scale = 5e-3,
                .exclude_current_positions = true,
        },
        .n_excluded = 1,
        .judge = locomotion_judge,
};

MUJOCO_ENV(hopper, 4, hopper_task);
MUJOCO_ENV(hopper, 5, hopper_task);
