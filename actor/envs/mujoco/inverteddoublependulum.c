/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* InvertedDoublePendulum: balance two poles, one on top of the other, on a cart by pushing the cart along
 * its rail. */
#include <assert.h>
#include <math.h>

#include "actor/envs/mujoco/engine.h"
#include "actor/envs/mujoco/tasks.h"

#define OBSERVED_LIMIT 10.0
#define HEIGHT_MIN     1.0
#define HEIGHT_GOAL    2.0

MUJOCO_MODEL(inverteddoublependulum);

static mjModel *inverteddoublependulum_model;

/* In Gymnasium's v4 these options are constants. */
static const EnvOption inverteddoublependulum_options[] = { INVERTEDDOUBLEPENDULUM_V5_OPTIONS(ENV_OPTION) };

/* Observes the position of the cart; sines, then cosines of both angles; velocities; constraint forces (v5:
 * only the cart's). */
static uint32_t inverteddoublependulum_observe(const MujocoInstance *m, float *ret, uint32_t n) {
        const mjData *d = m->data;
        uint32_t k = 0;

        assert(n >= m->task->n_observation);

        ret[k++] = (float) d->qpos[0];
        for (int i = 1; i < m->model->nq; i++)
                ret[k++] = (float) sin(d->qpos[i]);
        for (int i = 1; i < m->model->nq; i++)
                ret[k++] = (float) cos(d->qpos[i]);
        for (int i = 0; i < m->model->nv; i++)
                ret[k++] = (float) env_clamp(d->qvel[i], -OBSERVED_LIMIT, OBSERVED_LIMIT);
        for (int i = 0; i < m->model->nv; i++)
                ret[k++] = (float) env_clamp(d->qfrc_constraint[i], -OBSERVED_LIMIT, OBSERVED_LIMIT);
        return k;
}

static void inverteddoublependulum_judge(
                const MujocoInstance *m, double velocity, double ctrl_squares, ActordStep *ret) {
        const mjtNum *tip = m->data->site_xpos, *v = m->data->qvel;
        double x = tip[0], below = tip[2] - HEIGHT_GOAL;

        double healthy_reward = m->options.healthy_reward;

        ret->terminated = !(tip[2] > HEIGHT_MIN); /* a NaN ends the episode, too */
        if (m->version >= 5 && ret->terminated)
                healthy_reward = 0;
        ret->reward = healthy_reward - (0.01 * x * x + below * below) -
                      (1e-3 * v[1] * v[1] + 5e-3 * v[2] * v[2]);
}

static const MujocoTask inverteddoublependulum_task = {
        .name = "InvertedDoublePendulum",
        .xml = inverteddoublependulum_xml,
        .xml_end = inverteddoublependulum_xml_end,
        .model = &inverteddoublependulum_model,
        .frame_skip = 5,
        .horizon_steps = 1000,
        .solved_return = 9100,
        .seen_fixed = true,
        .seen_width = 4.2,
        .seen_height = 0.5,
        .velocity_limit = INFINITY,
        .velocity_noise_normal = true,
        MUJOCO_V5_OPTIONS(inverteddoublependulum_options),
        .observe = inverteddoublependulum_observe,
        .n_observation = 11,
        .n_v5_dropped = 2,
        .judge = inverteddoublependulum_judge,
};

MUJOCO_ENV(inverteddoublependulum, 4, inverteddoublependulum_task);
MUJOCO_ENV(inverteddoublependulum, 5, inverteddoublependulum_task);
