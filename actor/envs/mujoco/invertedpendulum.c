/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* InvertedPendulum-v4: keep the pole on a cart up by pushing the cart along its rail. */
#include <math.h>

#include "actor/envs/mujoco/engine.h"
#include "actor/envs/mujoco/tasks.h"

#define ANGLE_LIMIT 0.2

MUJOCO_MODEL(invertedpendulum);

static mjModel *invertedpendulum_model;

static void invertedpendulum_judge(
                const MujocoInstance *m, double velocity, double ctrl_squares, ActordStep *ret) {
        double angle = m->data->qpos[1];

        ret->reward = 1;
        ret->terminated = !(fabs(angle) <= ANGLE_LIMIT); /* a NaN ends it, too */
}

static const MujocoTask invertedpendulum_task = {
        .name = "InvertedPendulum-v4",
        .xml = invertedpendulum_xml,
        .xml_end = invertedpendulum_xml_end,
        .model = &invertedpendulum_model,
        .frame_skip = 2,
        .horizon_steps = 1000,
        .solved_return = 950,
        .velocity_limit = INFINITY,
        .defaults = { .reset_noise_scale = 0.01 },
        .judge = invertedpendulum_judge,
};

MUJOCO_ENV(invertedpendulum);
