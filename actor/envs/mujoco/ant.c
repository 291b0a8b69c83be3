/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Ant: walk forward on four legs without jumping or rolling over. */
#include <math.h>

#include "actor/envs/mujoco/engine.h"
#include "actor/envs/mujoco/tasks.h"

enum { BODY_TORSO = 1 }; /* body 0 is the world */

MUJOCO_MODEL(ant);

static mjModel *ant_model;

static const EnvOption ant_v4_options[] = { ANT_V4_OPTIONS(ENV_OPTION) };
static const EnvOption ant_v5_options[] = { ANT_V5_OPTIONS(ENV_OPTION) };

static void ant_place(const MujocoInstance *m, double ret[MUJOCO_N_PLACE]) {
        memcpy(ret, m->data->xpos + 3 * BODY_TORSO, MUJOCO_N_PLACE * sizeof(ret[0]));
}

/* The torso's height is within the bounds, or at one of them. The engine has refused numbers that are not
 * finite. */
static bool ant_is_healthy(const MujocoInstance *m) {
        double z = m->data->qpos[2];

        return m->options.healthy_z_min <= z && z <= m->options.healthy_z_max;
}

/* The weighted sum of the squares of all external forces and torques on the bodies, each clipped first. */
static double contact_cost(const MujocoInstance *m) {
        const MujocoOptions *o = &m->options;
        double squares = 0;

        for (int i = 0; i < 6 * m->model->nbody; i++) {
                double x = env_clamp(m->data->cfrc_ext[i], o->contact_force_min, o->contact_force_max);

                squares += x * x;
        }
        return o->contact_cost_weight * squares;
}

static void ant_judge(const MujocoInstance *m, double velocity, double ctrl_squares, ActordStep *ret) {
        const MujocoOptions *o = &m->options;
        bool healthy = ant_is_healthy(m);
        double cost = o->ctrl_cost_weight * ctrl_squares;

        if (m->version >= 5 || o->include_cfrc_ext)
                cost += contact_cost(m);

        ret->reward = o->forward_reward_weight * velocity + mujoco_healthy_reward(m, healthy) - cost;
        ret->terminated = o->terminate_when_unhealthy && !healthy;
}

/* The parts that both versions share */
#define ANT_TASK                                                                                        \
        .name = "Ant", .xml = ant_xml, .xml_end = ant_xml_end, .model = &ant_model, .frame_skip = 5,    \
        .horizon_steps = 1000, .solved_return = 6000, .seen = MUJOCO_SEEN_ASLANT, .seen_width = 6,      \
        .seen_height = 0.5, .velocity_limit = INFINITY, .velocity_noise_normal = true, .n_excluded = 2, \
        .place = ant_place, .judge = ant_judge

static const MujocoTask ant_v4_task = {
        ANT_TASK,
        MUJOCO_OPTIONS(ant_v4_options),
        .defaults = { .forward_reward_weight = 1 },
};

/* In v5, contact forces have a cost and are observed. */
static const MujocoTask ant_v5_task = {
        ANT_TASK,
        MUJOCO_OPTIONS(ant_v5_options),
        .reads_forces = true,
};

MUJOCO_ENV(ant, 4, ant_v4_task);
MUJOCO_ENV(ant, 5, ant_v5_task);
