/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Ant-v4: walk forward on four legs without jumping or rolling over. */
#include <math.h>

#include "actor/envs/mujoco/engine.h"
#include "actor/envs/mujoco/options.h"
#include "actor/envs/mujoco/tasks.h"

enum { BODY_TORSO = 1 }; /* the first after the world */

MUJOCO_MODEL(ant);

static mjModel *ant_model;

static const EnvOption ant_options[] = {
        NUMBER("CtrlCostWeight", ctrl_cost_weight, -WEIGHT_MAX, WEIGHT_MAX),
        NUMBER("HealthyReward", healthy_reward, -WEIGHT_MAX, WEIGHT_MAX),
        BOOL("TerminateWhenUnhealthy", terminate_when_unhealthy),
        NUMBER("HealthyZMin", healthy_z_min, -INFINITY, INFINITY),
        NUMBER("HealthyZMax", healthy_z_max, -INFINITY, INFINITY),
        NUMBER("ResetNoiseScale", reset_noise_scale, 0, NOISE_MAX),
        BOOL("ExcludeCurrentPositions", exclude_current_positions),
};

static void ant_place(const MujocoInstance *m, double ret[MUJOCO_N_PLACE]) {
        memcpy(ret, m->data->xpos + 3 * BODY_TORSO, MUJOCO_N_PLACE * sizeof(ret[0]));
}

/* The torso within its bounds, which belong to it; the engine has refused what is not finite. */
static bool ant_is_healthy(const MujocoInstance *m) {
        double z = m->data->qpos[2];

        return m->options.healthy_z_min <= z && z <= m->options.healthy_z_max;
}

static void ant_judge(const MujocoInstance *m, double velocity, double ctrl_squares, ActordStep *ret) {
        const MujocoOptions *o = &m->options;
        bool healthy = ant_is_healthy(m);

        /* Whoever ends an episode at a fall is paid for that last step, too (Gymnasium's v4). */
        ret->reward = velocity + (healthy || o->terminate_when_unhealthy ? o->healthy_reward : 0) -
                      o->ctrl_cost_weight * ctrl_squares;
        ret->terminated = o->terminate_when_unhealthy && !healthy;
}

static const MujocoTask ant_task = {
        .name = "Ant-v4",
        .xml = ant_xml,
        .xml_end = ant_xml_end,
        .model = &ant_model,
        .frame_skip = 5,
        .horizon_steps = 1000,
        .solved_return = 6000,
        .velocity_limit = INFINITY,
        .velocity_noise_normal = true,
        .options = ant_options,
        .n_options = sizeof(ant_options) / sizeof(ant_options[0]),
        .defaults = {
                .ctrl_cost_weight = 0.5,
                .healthy_reward = 1,
                .terminate_when_unhealthy = true,
                .healthy_z_min = 0.2,
                .healthy_z_max = 1,
                .reset_noise_scale = 0.1,
                .exclude_current_positions = true,
        },
        .n_excluded = 2,
        .place = ant_place,
        .judge = ant_judge,
};

MUJOCO_ENV(ant);
