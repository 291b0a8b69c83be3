/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Humanoid: walk forward on two legs without falling. */
#include <math.h>

#include "actor/envs/mujoco/engine.h"
#include "actor/envs/mujoco/tasks.h"

MUJOCO_MODEL(humanoid);

static mjModel *humanoid_model;

static const EnvOption humanoid_options[] = { HUMANOID_OPTIONS(ENV_OPTION)
                        HUMANOID_ONLY_V5_OPTIONS(ENV_OPTION) };

#define COUNT(...) +1
enum { N_V5_OPTIONS = HUMANOID_ONLY_V5_OPTIONS(COUNT) };

/* Writes the position of the body's centre of mass. */
static void humanoid_place(const MujocoInstance *m, double ret[MUJOCO_N_PLACE]) {
        double mass = 0;

        memset(ret, 0, MUJOCO_N_PLACE * sizeof(ret[0]));
        for (int i = 0; i < m->model->nbody; i++) {
                mass += m->model->body_mass[i];
                for (int k = 0; k < MUJOCO_N_PLACE; k++)
                        ret[k] += m->model->body_mass[i] * m->data->xipos[3 * i + k];
        }
        for (int k = 0; k < MUJOCO_N_PLACE; k++)
                ret[k] /= mass;
}

/* The weighted sum of the squared external forces on all bodies, clamped to the range from ContactCostMin=
 * to ContactCostMax=. */
static double contact_cost(const MujocoInstance *m) {
        const MujocoOptions *o = &m->options;
        double squares = 0;

        for (int i = 0; i < 6 * m->model->nbody; i++)
                squares += m->data->cfrc_ext[i] * m->data->cfrc_ext[i];
        return env_clamp(o->contact_cost_weight * squares, o->contact_cost_min, o->contact_cost_max);
}

static void humanoid_judge(const MujocoInstance *m, double velocity, double ctrl_squares, ActordStep *ret) {
        const MujocoOptions *o = &m->options;
        double z = m->data->qpos[2], cost = o->ctrl_cost_weight * ctrl_squares;
        bool healthy = o->healthy_z_min < z && z < o->healthy_z_max;

        if (m->version >= 5)
                cost += contact_cost(m);

        ret->reward = o->forward_reward_weight * velocity + mujoco_healthy_reward(m, healthy) - cost;
        ret->terminated = o->terminate_when_unhealthy && !healthy;
}

static const MujocoTask humanoid_task = {
        .name = "Humanoid",
        .xml = humanoid_xml,
        .xml_end = humanoid_xml_end,
        .model = &humanoid_model,
        .frame_skip = 5,
        .horizon_steps = 1000,
        .solved_return = NAN,
        .seen = MUJOCO_SEEN_ASLANT,
        .seen_width = 4.5,
        .seen_height = 0.8,
        .velocity_limit = INFINITY,
        MUJOCO_OPTIONS(humanoid_options),
        .n_v5_options = N_V5_OPTIONS,
        .defaults = { .contact_force_min = -INFINITY, .contact_force_max = INFINITY },
        .n_excluded = 2,
        .reads_forces = true,
        .place = humanoid_place,
        .judge = humanoid_judge,
};

MUJOCO_ENV(humanoid, 4, humanoid_task);
MUJOCO_ENV(humanoid, 5, humanoid_task);
