/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The reward of robots that move along x. */
#include "actor/envs/mujoco/locomotion.h"

#include <math.h>

static bool between(double low, double x, double high) {
        return low < x && x < high;
}

/* Height and angle of the torso, and the rest of the state, are within their bounds. */
static bool is_healthy(const MujocoInstance *m) {
        const MujocoOptions *o = &m->options;
        const mjtNum *qpos = m->data->qpos, *qvel = m->data->qvel;

        if (!between(o->healthy_z_min, qpos[1], o->healthy_z_max) ||
                        !between(o->healthy_angle_min, qpos[2], o->healthy_angle_max))
                return false;

        for (int i = 2; i < m->model->nq; i++)
                if (!between(o->healthy_state_min, qpos[i], o->healthy_state_max))
                        return false;
        for (int i = 0; i < m->model->nv; i++)
                if (!between(o->healthy_state_min, qvel[i], o->healthy_state_max))
                        return false;
        return true;
}

void locomotion_judge(const MujocoInstance *m, double velocity, double ctrl_squares, ActordStep *ret) {
        const MujocoOptions *o = &m->options;
        bool healthy = is_healthy(m);

        ret->reward = o->forward_reward_weight * velocity + mujoco_healthy_reward(m, healthy) -
                      o->ctrl_cost_weight * ctrl_squares;
        ret->terminated = o->terminate_when_unhealthy && !healthy;
}
