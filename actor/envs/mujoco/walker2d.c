/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Walker2d: walk forward on two legs without falling. */
#include <math.h>

#include "actor/envs/mujoco/locomotion.h"
#include "actor/envs/mujoco/options.h"
#include "actor/envs/mujoco/tasks.h"

MUJOCO_MODEL(walker2d);
MUJOCO_MODEL(walker2d_v5);

static mjModel *walker2d_model, *walker2d_v5_model;

static const EnvOption walker2d_options[] = { WALKER2D_OPTIONS(ENV_OPTION) };

/* The part that both versions share; their models differ. */
#define WALKER2D_TASK                                                                     \
        .name = "Walker2d", .frame_skip = 4, .horizon_steps = 1000, .solved_return = NAN, \
        .seen_width = 4.5, .seen_height = 1.1, .velocity_limit = 10, .n_excluded = 1,     \
        .judge = locomotion_judge, MUJOCO_OPTIONS(walker2d_options),                      \
        .defaults = { .healthy_state_min = -INFINITY, .healthy_state_max = INFINITY }

static const MujocoTask walker2d_v4_task = {
        WALKER2D_TASK,
        .xml = walker2d_xml,
        .xml_end = walker2d_xml_end,
        .model = &walker2d_model,
};

/* Both feet grip alike. */
static const MujocoTask walker2d_v5_task = {
        WALKER2D_TASK,
        .xml = walker2d_v5_xml,
        .xml_end = walker2d_v5_xml_end,
        .model = &walker2d_v5_model,
};

MUJOCO_ENV(walker2d, 4, walker2d_v4_task);
MUJOCO_ENV(walker2d, 5, walker2d_v5_task);
