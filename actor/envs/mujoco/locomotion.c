/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Robots in a plane that are rewarded for moving along x. Gymnasium gives them the same reward with
 * different constants. */
#include <math.h>

#include "actor/envs/mujoco/tasks.h"

static bool between(double low, double x, double high) {
        return low < x && x < high;
}

/* Whether the height and the angle of the torso, and the rest of the state, are within their bounds. */
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

/* Weight * velocity + healthy reward - cost of control. The episode ends when the robot falls, unless the
 * options say otherwise. */
static void judge(const MujocoInstance *m, double velocity, double ctrl_squares, ActordStep *ret) {
        const MujocoOptions *o = &m->options;
        bool healthy = is_healthy(m);

        ret->reward = o->forward_reward_weight * velocity + mujoco_healthy_reward(m, healthy) -
                      o->ctrl_cost_weight * ctrl_squares;
        ret->terminated = o->terminate_when_unhealthy && !healthy;
}

/* Hopper: hop forward on one leg without falling. */
MUJOCO_MODEL(hopper);

static mjModel *hopper_model;

static const EnvOption hopper_options[] = { HOPPER_OPTIONS(ENV_OPTION) };

static const MujocoTask hopper_task = {
        .name = "Hopper",
        .xml = hopper_xml,
        .xml_end = hopper_xml_end,
        .model = &hopper_model,
        .frame_skip = 4,
        .horizon_steps = 1000,
        .solved_return = 3800,
        .seen_width = 4.5,
        .seen_height = 1.1,
        .velocity_limit = 10,
        MUJOCO_OPTIONS(hopper_options),
        .n_excluded = 1,
        .judge = judge,
};

MUJOCO_ENV(hopper, 4, hopper_task);
MUJOCO_ENV(hopper, 5, hopper_task);

/* Walker2d: walk forward on two legs without falling. */
MUJOCO_MODEL(walker2d);
MUJOCO_MODEL(walker2d_v5);

static mjModel *walker2d_model, *walker2d_v5_model;

static const EnvOption walker2d_options[] = { WALKER2D_OPTIONS(ENV_OPTION) };

/* The members that are the same in Walker2d-v4 and Walker2d-v5. Their models differ. */
#define WALKER2D_TASK                                                                                 \
        .name = "Walker2d", .frame_skip = 4, .horizon_steps = 1000, .solved_return = NAN,             \
        .seen_width = 4.5, .seen_height = 1.1, .velocity_limit = 10, .n_excluded = 1, .judge = judge, \
        MUJOCO_OPTIONS(walker2d_options),                                                             \
        .defaults = { .healthy_state_min = -INFINITY, .healthy_state_max = INFINITY }

static const MujocoTask walker2d_v4_task = {
        WALKER2D_TASK,
        .xml = walker2d_xml,
        .xml_end = walker2d_xml_end,
        .model = &walker2d_model,
};

/* In v5 both feet have the same friction. */
static const MujocoTask walker2d_v5_task = {
        WALKER2D_TASK,
        .xml = walker2d_v5_xml,
        .xml_end = walker2d_v5_xml_end,
        .model = &walker2d_v5_model,
};

MUJOCO_ENV(walker2d, 4, walker2d_v4_task);
MUJOCO_ENV(walker2d, 5, walker2d_v5_task);

/* HalfCheetah: run forward on two legs in a plane. It may roll over, and no episode ends early. */
MUJOCO_MODEL(halfcheetah);

static mjModel *halfcheetah_model;

static const EnvOption halfcheetah_options[] = { HALFCHEETAH_OPTIONS(ENV_OPTION) };

static const MujocoTask halfcheetah_task = {
        .name = "HalfCheetah",
        .xml = halfcheetah_xml,
        .xml_end = halfcheetah_xml_end,
        .model = &halfcheetah_model,
        .frame_skip = 5,
        .horizon_steps = 1000,
        .solved_return = 4800,
        .seen_width = 4.5,
        .seen_height = 0.9,
        .velocity_limit = INFINITY,
        .velocity_noise_normal = true,
        MUJOCO_OPTIONS(halfcheetah_options),
        .n_excluded = 1,
        .judge = judge,
};

MUJOCO_ENV(halfcheetah, 4, halfcheetah_task);
MUJOCO_ENV(halfcheetah, 5, halfcheetah_task);

/* Swimmer: a chain of three links swims in a plane by bending its two joints. No episode ends early. */
MUJOCO_MODEL(swimmer);

static mjModel *swimmer_model;

static const EnvOption swimmer_options[] = { SWIMMER_OPTIONS(ENV_OPTION) };

static const MujocoTask swimmer_task = {
        .name = "Swimmer",
        .xml = swimmer_xml,
        .xml_end = swimmer_xml_end,
        .model = &swimmer_model,
        .frame_skip = 4,
        .horizon_steps = 1000,
        .solved_return = 360,
        .seen = MUJOCO_SEEN_ABOVE,
        .seen_width = 7.5,
        .velocity_limit = INFINITY,
        MUJOCO_OPTIONS(swimmer_options),
        .n_excluded = 2,
        .judge = judge,
};

MUJOCO_ENV(swimmer, 4, swimmer_task);
MUJOCO_ENV(swimmer, 5, swimmer_task);
