/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Walker2d: walk forward on two legs without falling. */
#include <math.h>

#include "actor/envs/mujoco/locomotion.h"
#include "actor/envs/mujoco/tasks.h"

MUJOCO_MODEL(walker2d);
MUJOCO_MODEL(walker2d_v5);

static mjModel *walker2d_model, *walker2d_v5_model;

/* What both versions have; their models differ. */
#define WALKER2D_TASK                                                                               \
        .name = "Walker2d", .frame_skip = 4, .horizon_steps = 1000, .solved_return = NAN,           \
        .seen_width = 4.5, .seen_height = 1.1, .velocity_limit = 10, .options = locomotion_options, \
        .n_options = LOCOMOTION_N_FALLING, .n_excluded = 1, .judge = locomotion_judge

#define WALKER2D_DEFAULTS                                                                                \
        .forward_reward_weight = 1, .ctrl_cost_weight = 1e-3, .healthy_reward = 1,                       \
        .terminate_when_unhealthy = true, .healthy_state_min = -INFINITY, .healthy_state_max = INFINITY, \
        .healthy_z_min = 0.8, .healthy_z_max = 2, .healthy_angle_min = -1, .healthy_angle_max = 1,       \
        .reset_noise_scale = 5e-3, .exclude_current_positions = true

static const MujocoTask walker2d_v4_task = {
        WALKER2D_TASK,
        .xml = walker2d_xml,
        .xml_end = walker2d_xml_end,
        .model = &walker2d_model,
        .defaults = { WALKER2D_DEFAULTS },
};

/* Both feet grip alike. */
static const MujocoTask walker2d_v5_task = {
        WALKER2D_TASK,
        .xml = walker2d_v5_xml,
        .xml_end = walker2d_v5_xml_end,
        .model = &walker2d_v5_model,
        .defaults = { WALKER2D_DEFAULTS },
};

MUJOCO_ENV(walker2d, 4, walker2d_v4_task);
MUJOCO_ENV(walker2d, 5, walker2d_v5_task);
