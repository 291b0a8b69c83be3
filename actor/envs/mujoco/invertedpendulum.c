/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* InvertedPendulum: keep the pole on a cart up by pushing the cart along its rail. */
#include <math.h>

#include "actor/envs/mujoco/engine.h"
#include "actor/envs/mujoco/tasks.h"

#define ANGLE_LIMIT 0.2

MUJOCO_MODEL(invertedpendulum);

static mjModel *invertedpendulum_model;

/* The noise of a reset is an option. In Gymnasium's v4 it is a constant. */
static const EnvOption invertedpendulum_options[] = { INVERTEDPENDULUM_V5_OPTIONS(ENV_OPTION) };

static void invertedpendulum_judge(
                const MujocoInstance *m, double velocity, double ctrl_squares, ActordStep *ret) {
        double angle = m->data->qpos[1];

        ret->terminated = !(fabs(angle) <= ANGLE_LIMIT); /* a NaN ends the episode, too */
        ret->reward = m->version >= 5 && ret->terminated ? 0 : 1;
}

static const MujocoTask invertedpendulum_task = {
        .name = "InvertedPendulum",
        .xml = invertedpendulum_xml,
        .xml_end = invertedpendulum_xml_end,
        .model = &invertedpendulum_model,
        .frame_skip = 2,
        .horizon_steps = 1000,
        .solved_return = 950,
        .seen_fixed = true,
        .seen_width = 2.7,
        .seen_height = 0.3,
        .velocity_limit = INFINITY,
        MUJOCO_V5_OPTIONS(invertedpendulum_options),
        .judge = invertedpendulum_judge,
};

MUJOCO_ENV(invertedpendulum, 4, invertedpendulum_task);
MUJOCO_ENV(invertedpendulum, 5, invertedpendulum_task);
