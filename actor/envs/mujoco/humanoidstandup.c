/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* HumanoidStandup: get up from lying on the back. No episode ends early. */
#include <math.h>

#include "actor/envs/mujoco/engine.h"
#include "actor/envs/mujoco/tasks.h"

MUJOCO_MODEL(humanoidstandup);

static mjModel *humanoidstandup_model;

/* In Gymnasium's v4 these options are constants. */
static const EnvOption humanoidstandup_options[] = { HUMANOIDSTANDUP_V5_OPTIONS(ENV_OPTION) };

/* The reward for rising is the height divided by the time of one physics step, as if the robot had risen
 * from zero in it. Control and impacts have costs, and each step adds 1. */
static void humanoidstandup_judge(
                const MujocoInstance *m, double velocity, double ctrl_squares, ActordStep *ret) {
        const MujocoOptions *o = &m->options;
        double impact = 0;

        for (int i = 0; i < 6 * m->model->nbody; i++)
                impact += m->data->cfrc_ext[i] * m->data->cfrc_ext[i];
        impact = env_clamp(o->contact_cost_weight * impact, o->contact_cost_min, o->contact_cost_max);

        ret->reward = o->uph_cost_weight * (m->data->qpos[2] / m->model->opt.timestep) -
                      o->ctrl_cost_weight * ctrl_squares - impact + 1;
}

static const MujocoTask humanoidstandup_task = {
        .name = "HumanoidStandup",
        .xml = humanoidstandup_xml,
        .xml_end = humanoidstandup_xml_end,
        .model = &humanoidstandup_model,
        .frame_skip = 5,
        .horizon_steps = 1000,
        .solved_return = NAN,
        .seen = MUJOCO_SEEN_ASLANT,
        .seen_width = 4.5,
        .seen_height = 0.6,
        .velocity_limit = INFINITY,
        MUJOCO_V5_OPTIONS(humanoidstandup_options),
        .defaults = { .contact_force_min = -INFINITY, .contact_force_max = INFINITY },
        .n_excluded = 2,
        .reads_forces = true,
        .judge = humanoidstandup_judge,
};

MUJOCO_ENV(humanoidstandup, 4, humanoidstandup_task);
MUJOCO_ENV(humanoidstandup, 5, humanoidstandup_task);
