/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reacher: bring the fingertip of an arm of two links to a target in the plane. */
#include <assert.h>
#include <math.h>

#include "actor/envs/mujoco/engine.h"
#include "actor/envs/mujoco/tasks.h"

#define VELOCITY_NOISE 0.005
#define TARGET_RADIUS  0.2

/* Bodies and joints in the order of the model's text. */
enum { BODY_FINGERTIP = 3, BODY_TARGET = 4 };
enum { N_ARM = 2, N_TARGET = 2 };

MUJOCO_MODEL(reacher);

static mjModel *reacher_model;

/* The weights of the reward are options. In Gymnasium's v4 they are constants. */
static const EnvOption reacher_options[] = { REACHER_V5_OPTIONS(ENV_OPTION) };

/* The vector from the target to the fingertip. */
static void reacher_place(const MujocoInstance *m, double ret[MUJOCO_N_PLACE]) {
        for (int i = 0; i < MUJOCO_N_PLACE; i++)
                ret[i] = m->data->xpos[3 * BODY_FINGERTIP + i] - m->data->xpos[3 * BODY_TARGET + i];
}

/* The target is anywhere on a disk, at rest. */
static void reacher_reset(MujocoInstance *m, ActordRandom *random) {
        double *target = m->data->qpos + N_ARM;

        do
                for (int i = 0; i < N_TARGET; i++)
                        target[i] = actord_random_uniform(random, -TARGET_RADIUS, TARGET_RADIUS);
        while (!(hypot(target[0], target[1]) < TARGET_RADIUS));

        for (int i = 0; i < N_ARM; i++)
                m->data->qvel[i] = actord_random_uniform(random, -VELOCITY_NOISE, VELOCITY_NOISE);
        for (int i = 0; i < N_TARGET; i++)
                m->data->qvel[N_ARM + i] = 0;
}

/* Writes the observation: the cosines of the arm's angles, their sines, the target's position, the arm's
 * velocities, and the vector from the target. The last number of this vector is 0; v5 leaves it out. */
static uint32_t reacher_observe(const MujocoInstance *m, float *ret, uint32_t n) {
        const mjData *d = m->data;
        double way[MUJOCO_N_PLACE];
        uint32_t k = 0;

        assert(n >= m->task->n_observation);

        reacher_place(m, way);
        for (int i = 0; i < N_ARM; i++)
                ret[k++] = (float) cos(d->qpos[i]);
        for (int i = 0; i < N_ARM; i++)
                ret[k++] = (float) sin(d->qpos[i]);
        for (int i = 0; i < N_TARGET; i++)
                ret[k++] = (float) d->qpos[N_ARM + i];
        for (int i = 0; i < N_ARM; i++)
                ret[k++] = (float) d->qvel[i];
        for (int i = 0; i < MUJOCO_N_PLACE; i++)
                ret[k++] = (float) way[i];
        return k;
}

/* The reward counts the fingertip's distance from the target: under v4 the distance before the step, under
 * v5 the distance after it. */
static void reacher_judge(const MujocoInstance *m, double velocity, double ctrl_squares, ActordStep *ret) {
        double way[MUJOCO_N_PLACE];

        if (m->version >= 5)
                reacher_place(m, way);
        else
                memcpy(way, m->place, sizeof(way));

        ret->reward = -sqrt(way[0] * way[0] + way[1] * way[1] + way[2] * way[2]) *
                                      m->options.reward_dist_weight -
                      ctrl_squares * m->options.reward_control_weight;
}

static const MujocoTask reacher_task = {
        .name = "Reacher",
        .xml = reacher_xml,
        .xml_end = reacher_xml_end,
        .model = &reacher_model,
        .frame_skip = 2,
        .horizon_steps = 50,
        .solved_return = -3.75,
        .seen = MUJOCO_SEEN_ABOVE,
        .seen_fixed = true,
        .seen_width = 0.84,
        .velocity_limit = INFINITY,
        MUJOCO_V5_OPTIONS(reacher_options),
        .defaults = { .reset_noise_scale = 0.1 },
        .observe = reacher_observe,
        .n_observation = 11,
        .n_v5_dropped = 1,
        .reset = reacher_reset,
        .place = reacher_place,
        .judge = reacher_judge,
};

MUJOCO_ENV(reacher, 4, reacher_task);
MUJOCO_ENV(reacher, 5, reacher_task);
