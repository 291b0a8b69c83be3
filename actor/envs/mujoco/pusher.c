/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pusher: push an object on a table to a goal with an arm of seven joints. No episode ends early. */
#include <assert.h>
#include <math.h>

#include "actor/envs/mujoco/engine.h"
#include "actor/envs/mujoco/tasks.h"

#define VELOCITY_NOISE 0.005
#define OBJECT_AWAY    0.17 /* the least distance from the goal */

/* Bodies and joints in the order of the model's text. */
enum { BODY_FINGERTIPS = 10, BODY_OBJECT = 11, BODY_GOAL = 12 };
enum { N_ARM = 7, N_OBJECT = 2, N_GOAL = 2 };

MUJOCO_MODEL(pusher);
MUJOCO_MODEL(pusher_v5);

static mjModel *pusher_model, *pusher_v5_model;

/* In Gymnasium's Pusher-v4 the options of v5 are constants. */
static const EnvOption pusher_options[] = { PUSHER_V5_OPTIONS(ENV_OPTION) };

static double distance(const MujocoInstance *m, int body, int other) {
        const mjtNum *a = m->data->xpos + 3 * body, *b = m->data->xpos + 3 * other;
        double squares = 0;

        for (int i = 0; i < 3; i++)
                squares += (a[i] - b[i]) * (a[i] - b[i]);
        return sqrt(squares);
}

/* The object's distances from the hand and from the goal. */
static void pusher_place(const MujocoInstance *m, double ret[MUJOCO_N_PLACE]) {
        ret[0] = distance(m, BODY_OBJECT, BODY_FINGERTIPS);
        ret[1] = distance(m, BODY_OBJECT, BODY_GOAL);
        ret[2] = 0;
}

/* The arm and the goal are at their places in the model. The object is anywhere in a rectangle, but not too
 * near the goal. */
static void pusher_reset(MujocoInstance *m, ActordRandom *random) {
        double *object = m->data->qpos + N_ARM;

        do {
                object[0] = actord_random_uniform(random, -0.3, 0);
                object[1] = actord_random_uniform(random, -0.2, 0.2);
        } while (!(hypot(object[0], object[1]) > OBJECT_AWAY));

        for (int i = 0; i < N_ARM; i++)
                m->data->qvel[i] = actord_random_uniform(random, -VELOCITY_NOISE, VELOCITY_NOISE);
        for (int i = N_ARM; i < m->model->nv; i++)
                m->data->qvel[i] = 0;
}

/* Observes the angles and velocities of the arm, and the positions of the hand, the object and the goal. */
static uint32_t pusher_observe(const MujocoInstance *m, float *ret, uint32_t n) {
        static const int bodies[] = { BODY_FINGERTIPS, BODY_OBJECT, BODY_GOAL };
        const mjData *d = m->data;
        uint32_t k = 0;

        assert(n >= m->task->n_observation);

        for (int i = 0; i < N_ARM; i++)
                ret[k++] = (float) d->qpos[i];
        for (int i = 0; i < N_ARM; i++)
                ret[k++] = (float) d->qvel[i];
        for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++)
                for (int axis = 0; axis < 3; axis++)
                        ret[k++] = (float) d->xpos[3 * bodies[i] + axis];
        return k;
}

/* Computes the reward from the object's distances (pusher_place()): under v4 those before the step, under v5
 * those after it. */
static void pusher_judge(const MujocoInstance *m, double velocity, double ctrl_squares, ActordStep *ret) {
        const MujocoOptions *o = &m->options;
        double place[MUJOCO_N_PLACE];

        if (m->version >= 5)
                pusher_place(m, place);
        else
                memcpy(place, m->place, sizeof(place));

        ret->reward = -place[1] * o->reward_dist_weight - ctrl_squares * o->reward_control_weight -
                      place[0] * o->reward_near_weight;
}

/* The parts that both versions share. Their models differ. */
#define PUSHER_TASK                                                                                   \
        .name = "Pusher", .frame_skip = 5, .horizon_steps = 100, .solved_return = 0,                  \
        .seen = MUJOCO_SEEN_ABOVE, .seen_fixed = true, .seen_width = 2.7, .velocity_limit = INFINITY, \
        MUJOCO_V5_OPTIONS(pusher_options), .observe = pusher_observe, .n_observation = 23,            \
        .reset = pusher_reset, .place = pusher_place, .judge = pusher_judge

static const MujocoTask pusher_v4_task = {
        PUSHER_TASK,
        .xml = pusher_xml,
        .xml_end = pusher_xml_end,
        .model = &pusher_model,
};

/* The object is several hundred times as heavy as in v4, since newer engines make the lighter one fly. */
static const MujocoTask pusher_v5_task = {
        PUSHER_TASK,
        .xml = pusher_v5_xml,
        .xml_end = pusher_v5_xml_end,
        .model = &pusher_v5_model,
};

MUJOCO_ENV(pusher, 4, pusher_v4_task);
MUJOCO_ENV(pusher, 5, pusher_v5_task);
