/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* HumanoidStandup-v4: get up from lying on the back. No episode ends early. */
#include <math.h>

#include "actor/envs/mujoco/humanoid.h"
#include "actor/envs/mujoco/tasks.h"

#define CTRL_COST_WEIGHT   0.1
#define IMPACT_COST_WEIGHT 0.5e-6
#define IMPACT_COST_MAX    10.0

MUJOCO_MODEL(humanoidstandup);

static mjModel *humanoidstandup_model;

/* Paid for the height itself, over a frame's time (as if it had begun at zero), not for having risen. */
static void humanoidstandup_judge(
                const MujocoInstance *m, double velocity, double ctrl_squares, ActordStep *ret) {
        double impact = 0;

        for (int i = 0; i < 6 * m->model->nbody; i++)
                impact += m->data->cfrc_ext[i] * m->data->cfrc_ext[i];

        ret->reward = m->data->qpos[2] / m->model->opt.timestep - CTRL_COST_WEIGHT * ctrl_squares -
                      fmin(IMPACT_COST_WEIGHT * impact, IMPACT_COST_MAX) + 1;
}

static const MujocoTask humanoidstandup_task = {
        .name = "HumanoidStandup-v4",
        .xml = humanoidstandup_xml,
        .xml_end = humanoidstandup_xml_end,
        .model = &humanoidstandup_model,
        .frame_skip = 5,
        .horizon_steps = 1000,
        .solved_return = NAN,
        .velocity_limit = INFINITY,
        .defaults = { .reset_noise_scale = 1e-2, .exclude_current_positions = true },
        .n_excluded = 2,
        .observe = humanoid_observe,
        .n_observation = HUMANOID_N_OBSERVATION,
        .reads_forces = true,
        .judge = humanoidstandup_judge,
};

MUJOCO_ENV(humanoidstandup);
