/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Humanoid-v4: walk forward on two legs without falling. */
#include <assert.h>
#include <math.h>

#include "actor/envs/mujoco/humanoid.h"
#include "actor/envs/mujoco/options.h"
#include "actor/envs/mujoco/tasks.h"

MUJOCO_MODEL(humanoid);

static mjModel *humanoid_model;

static const EnvOption humanoid_options[] = {
        NUMBER("ForwardRewardWeight", forward_reward_weight, -WEIGHT_MAX, WEIGHT_MAX),
        NUMBER("CtrlCostWeight", ctrl_cost_weight, -WEIGHT_MAX, WEIGHT_MAX),
        NUMBER("HealthyReward", healthy_reward, -WEIGHT_MAX, WEIGHT_MAX),
        BOOL("TerminateWhenUnhealthy", terminate_when_unhealthy),
        NUMBER("HealthyZMin", healthy_z_min, -INFINITY, INFINITY),
        NUMBER("HealthyZMax", healthy_z_max, -INFINITY, INFINITY),
        NUMBER("ResetNoiseScale", reset_noise_scale, 0, NOISE_MAX),
};

/* The centre of all mass. */
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

static uint32_t append(float *ret, const mjtNum *x, int n) {
        for (int i = 0; i < n; i++)
                ret[i] = (float) x[i];
        return (uint32_t) n;
}

uint32_t humanoid_observe(const MujocoInstance *m, float *ret, uint32_t n) {
        const mjModel *model = m->model;
        const mjData *d = m->data;
        uint32_t k;

        assert(n >= m->task->n_observation);

        k = mujoco_observe_state(m, ret, n);
        k += append(ret + k, d->cinert, 10 * model->nbody);
        k += append(ret + k, d->cvel, 6 * model->nbody);
        k += append(ret + k, d->qfrc_actuator, model->nv);
        k += append(ret + k, d->cfrc_ext, 6 * model->nbody);
        return k;
}

static void humanoid_judge(const MujocoInstance *m, double velocity, double ctrl_squares, ActordStep *ret) {
        const MujocoOptions *o = &m->options;
        double z = m->data->qpos[2];
        bool healthy = o->healthy_z_min < z && z < o->healthy_z_max;

        /* Whoever ends an episode at a fall is paid for that last step, too (Gymnasium's v4). */
        ret->reward = o->forward_reward_weight * velocity +
                      (healthy || o->terminate_when_unhealthy ? o->healthy_reward : 0) -
                      o->ctrl_cost_weight * ctrl_squares;
        ret->terminated = o->terminate_when_unhealthy && !healthy;
}

static const MujocoTask humanoid_task = {
        .name = "Humanoid-v4",
        .xml = humanoid_xml,
        .xml_end = humanoid_xml_end,
        .model = &humanoid_model,
        .frame_skip = 5,
        .horizon_steps = 1000,
        .solved_return = NAN,
        .velocity_limit = INFINITY,
        .options = humanoid_options,
        .n_options = sizeof(humanoid_options) / sizeof(humanoid_options[0]),
        .defaults = {
                .forward_reward_weight = 1.25,
                .ctrl_cost_weight = 0.1,
                .healthy_reward = 5,
                .terminate_when_unhealthy = true,
                .healthy_z_min = 1,
                .healthy_z_max = 2,
                .reset_noise_scale = 1e-2,
                .exclude_current_positions = true,
        },
        .n_excluded = 2,
        .observe = humanoid_observe,
        .n_observation = HUMANOID_N_OBSERVATION,
        .reads_forces = true,
        .place = humanoid_place,
        .judge = humanoid_judge,
};

MUJOCO_ENV(humanoid);
