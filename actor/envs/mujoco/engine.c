/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The environment ABI on MuJoCo. A step sets the controls and advances the physics frame_skip times, like
 * Gymnasium's MujocoEnv. Then it computes the observation and the reward. */
#include "actor/envs/mujoco/engine.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "actor/envs/mujoco/release.h"
#include "include/environments.h"
#include "lib/cleanup.h"
#include "lib/space.h"

/* How many numbers describe a body's inertia (cinert), and a velocity or a force together with its
 * rotation. */
enum { N_CINERT = 10, N_SPATIAL = 6 };

/* Model */

/* Loads the text as a file of a virtual file system: in all releases, mj_loadXML() reads a model in memory
 * only from there. */
static mjModel *model_parse(const MujocoTask *task) {
        size_t n = (size_t) (task->xml_end - task->xml);
        _cleanup_free_ mjVFS *vfs = NULL;
        char error[256] = "";
        mjModel *model;

        vfs = malloc(sizeof(*vfs)); /* it holds up to 2 MB of file names, too large for the stack */
        if (!vfs)
                return NULL;

        mj_defaultVFS(vfs);
        model = release_vfs_add(vfs, "model.xml", task->xml, n)
                                ? mj_loadXML("model.xml", vfs, error, sizeof(error))
                                : NULL;
        mj_deleteVFS(vfs);
        return model;
}

static void model_load(void *userdata) {
        const MujocoTask *task = userdata;

        *task->model = model_parse(task);
}

static int model_acquire(const MujocoTask *task, const mjModel **ret) {
        int r;

        if (!*task->model) {
                r = mujoco_guard(model_load, (void *) task);
                if (r < 0)
                        return r;
                if (!*task->model)
                        return -EIO;
        }

        assert((*task->model)->nu <= MUJOCO_CONTROLS_MAX);
        assert((*task->model)->nq + (*task->model)->nv <= MUJOCO_OBSERVATION_MAX);
        *ret = *task->model;
        return 0;
}

/* Options */

int mujoco_take_engine(const ActordOption *option) {
        if (!env_option_valid(option) || strcmp(option->key, ENGINE_KEY) != 0)
                return 0;

        /* This module has one release of the engine. actor/load.c chooses the module with the requested
         * release. */
        if (option->value[0] && strcmp(option->value, ENGINE_DEFAULT) != 0 &&
                        strcmp(option->value, mj_versionString()) != 0)
                return -EINVAL;
        return 1;
}

static int mujoco_parse(const MujocoTask *task, int version, const ActordOption *options, uint32_t n_options,
                MujocoOptions *ret) {
        size_t n = task->n_options - (version < 5 ? task->n_v5_options : 0);

        *ret = task->defaults;
        env_options_begin(task->options, task->n_options, ret);

        for (uint32_t i = 0; i < n_options; i++) {
                const ActordOption *option = &options[i];
                int r;

                r = mujoco_take_engine(option);
                if (r < 0)
                        return r;
                if (r > 0)
                        continue;
                r = env_option_parse(task->options, n, option, ret);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Sizes */

static int n_excluded(const MujocoTask *task, const MujocoOptions *options) {
        return options->exclude_current_positions ? task->n_excluded : 0;
}

/* v5 leaves out numbers that are always zero: those of the world's body, and of the free joint, which has no
 * motor. */
static int first_body(int version) {
        return version < 5 ? 0 : 1;
}

static int first_motor(int version) {
        return version < 5 ? 0 : 6;
}

static uint32_t n_observation(
                const MujocoTask *task, int version, const mjModel *model, const MujocoOptions *options) {
        int n, n_bodies = model->nbody - first_body(version);

        if (task->observe)
                return task->n_observation - (version < 5 ? 0 : task->n_v5_dropped);

        n = model->nq + model->nv - n_excluded(task, options);
        n += options->include_cinert ? N_CINERT * n_bodies : 0;
        n += options->include_cvel ? N_SPATIAL * n_bodies : 0;
        n += options->include_qfrc_actuator ? model->nv - first_motor(version) : 0;
        n += options->include_cfrc_ext ? N_SPATIAL * n_bodies : 0;
        return (uint32_t) n;
}

static int n_place(const MujocoTask *task) {
        if (!task->place)
                return 0;
        return task->n_place > 0 ? task->n_place : MUJOCO_N_PLACE;
}

static size_t n_state(const MujocoTask *task, const mjModel *model) {
        return 1 + (size_t) model->nq + 2 * (size_t) model->nv + (size_t) model->na + (size_t) model->nu +
               (size_t) n_place(task);
}

int mujoco_spec(const MujocoTask *task, int version, const ActordOption *options, uint32_t n_options,
                ActordEnvSpec *ret) {
        const mjModel *model;
        MujocoOptions parsed;
        int r;

        assert(task);
        assert(ret);

        r = mujoco_parse(task, version, options, n_options, &parsed);
        if (r < 0)
                return r;

        r = model_acquire(task, &model);
        if (r < 0)
                return r;

        *ret = (ActordEnvSpec){
                .observation = space_of_numbers(
                                n_observation(task, version, model, &parsed), -INFINITY, INFINITY),
                .action = space_of_numbers((uint32_t) model->nu,
                                task->scaled_controls ? -1 : model->actuator_ctrlrange[0],
                                task->scaled_controls ? 1 : model->actuator_ctrlrange[1]),
                .horizon_steps = task->horizon_steps,
                .n_agents = 1,
                .reward_low = -INFINITY,
                .reward_high = INFINITY,
                .solved_return = task->solved_return,
                .instance_bytes = sizeof(MujocoInstance),
                .snapshot_bytes = n_state(task, model) * sizeof(double),
        };
        (void) snprintf(ret->name, sizeof(ret->name), "%s-v%d", task->name, version);
        return 0;
}

/* Instance */

static void data_make(void *userdata) {
        MujocoInstance *m = userdata;

        m->data = mj_makeData(m->model);
}

int mujoco_init(const MujocoTask *task, int version, MujocoInstance *m, const ActordOption *options,
                uint32_t n_options) {
        int r;

        assert(task);
        assert(m);

        *m = (MujocoInstance){ .task = task, .version = version };

        r = mujoco_parse(task, version, options, n_options, &m->options);
        if (r < 0)
                return r;

        r = model_acquire(task, &m->model);
        if (r < 0)
                return r;

        r = mujoco_guard(data_make, m);
        if (r < 0)
                return r;
        return m->data ? 0 : -ENOMEM;
}

void mujoco_close(void *instance) {
        MujocoInstance *m = instance;

        if (m->data)
                mj_deleteData(TAKE_PTR(m->data));
}

static uint32_t append(float *ret, const mjtNum *x, int n, double low, double high) {
        for (int i = 0; i < n; i++)
                ret[i] = (float) env_clamp(x[i], low, high);
        return (uint32_t) n;
}

static uint32_t observe_usual(const MujocoInstance *m, float *ret, uint32_t n) {
        const MujocoOptions *o = &m->options;
        const mjModel *model = m->model;
        const mjData *d = m->data;
        double limit = m->task->velocity_limit;
        int skipped = n_excluded(m->task, o), body = first_body(m->version), motor = first_motor(m->version);
        uint32_t k = 0;

        assert(n >= n_observation(m->task, m->version, model, o));

        k += append(ret + k, d->qpos + skipped, model->nq - skipped, -INFINITY, INFINITY);
        k += append(ret + k, d->qvel, model->nv, -limit, limit);
        if (o->include_cinert)
                k += append(ret + k, d->cinert + N_CINERT * body, N_CINERT * (model->nbody - body),
                                -INFINITY, INFINITY);
        if (o->include_cvel)
                k += append(ret + k, d->cvel + N_SPATIAL * body, N_SPATIAL * (model->nbody - body),
                                -INFINITY, INFINITY);
        if (o->include_qfrc_actuator)
                k += append(ret + k, d->qfrc_actuator + motor, model->nv - motor, -INFINITY, INFINITY);
        if (o->include_cfrc_ext)
                k += append(ret + k, d->cfrc_ext + N_SPATIAL * body, N_SPATIAL * (model->nbody - body),
                                o->contact_force_min, o->contact_force_max);
        return k;
}

static void mujoco_observe(const MujocoInstance *m, void *ret_observation) {
        float observation[MUJOCO_OBSERVATION_MAX];
        uint32_t n;

        (void) (m->task->observe ?: observe_usual)(m, observation, MUJOCO_OBSERVATION_MAX);
        n = n_observation(m->task, m->version, m->model, &m->options);
        memcpy(ret_observation, observation, n * sizeof(float));
}

static void mujoco_place(const MujocoInstance *m, double *ret) {
        if (m->task->place)
                m->task->place(m, ret);
        else
                ret[0] = m->data->qpos[0];
}

static void data_forward(void *userdata) {
        MujocoInstance *m = userdata;

        mj_forward(m->model, m->data);
}

/* Computes all other numbers from positions and velocities. */
static int episode_begin(MujocoInstance *m, void *ret_observation) {
        int r;

        r = mujoco_guard(data_forward, m);
        if (r < 0)
                return r;

        mujoco_place(m, m->place);
        mujoco_observe(m, ret_observation);
        return 0;
}

int mujoco_reset(void *instance, ActordRandom *random, void *ret_observation) {
        MujocoInstance *m = instance;
        double scale = m->options.reset_noise_scale;

        mj_resetData(m->model, m->data);

        for (int i = 0; i < m->model->nq; i++)
                m->data->qpos[i] = m->model->qpos0[i] + actord_random_uniform(random, -scale, scale);
        for (int i = 0; i < m->model->nv; i++)
                m->data->qvel[i] = m->task->velocity_noise_normal
                                                   ? scale * actord_random_normal(random)
                                                   : actord_random_uniform(random, -scale, scale);
        if (m->task->reset)
                m->task->reset(m, random);

        return episode_begin(m, ret_observation);
}

static void data_step(void *userdata) {
        MujocoInstance *m = userdata;

        for (int i = 0; i < m->task->frame_skip; i++)
                mj_step(m->model, m->data);
        /* mj_step() does not compute the external forces on each body. */
        if (m->task->reads_forces || m->options.include_cfrc_ext)
                mj_rnePostConstraint(m->model, m->data);
}

/* A warning means that MuJoCo has replaced a diverged state by the initial one, or dropped contacts for lack
 * of room. In both cases the trajectory is not valid any more. */
static bool data_warned(const mjData *data) {
        for (int i = 0; i < mjNWARNING; i++)
                if (data->warning[i].number > 0)
                        return true;
        return false;
}

static double control_of(const MujocoInstance *m, int i, double action) {
        const mjtNum *range = m->model->actuator_ctrlrange + 2 * (size_t) i;

        return m->task->scaled_controls ? range[0] + (action + 1) / 2 * (range[1] - range[0]) : action;
}

int mujoco_step(void *instance, const void *action, ActordRandom *random, void *ret_observation,
                ActordStep *ret) {
        MujocoInstance *m = instance;
        float controls[MUJOCO_CONTROLS_MAX];
        double place[MUJOCO_PLACES_MAX] = {}, ctrl_squares = 0, velocity;
        int r;

        memcpy(controls, action, (size_t) m->model->nu * sizeof(float));
        for (int i = 0; i < m->model->nu; i++) {
                if (isnan(controls[i]))
                        return -EINVAL;
                m->data->ctrl[i] = control_of(m, i, controls[i]);
                ctrl_squares += m->data->ctrl[i] * m->data->ctrl[i];
        }

        r = mujoco_guard(data_step, m);
        if (r < 0)
                return r;
        if (data_warned(m->data))
                return -EIO;

        mujoco_place(m, place);
        velocity = (place[0] - m->place[0]) / (m->model->opt.timestep * m->task->frame_skip);
        mujoco_observe(m, ret_observation);
        *ret = (ActordStep){};
        m->task->judge(m, velocity, ctrl_squares, ret);
        memcpy(m->place, place, sizeof(place));
        return 0;
}

/* A snapshot has all data that mj_step() reads from the last step. Positions and velocities are not enough,
 * since the constraint solver starts from the last accelerations. */

typedef struct StatePart {
        mjtNum *numbers;
        int n;
} StatePart;

enum { N_STATE_PARTS = 7 };

static void state_parts(const MujocoInstance *m, double *place, StatePart ret[N_STATE_PARTS]) {
        const mjModel *model = m->model;
        mjData *data = m->data;

        ret[0] = (StatePart){ &data->time, 1 };
        ret[1] = (StatePart){ data->qpos, model->nq };
        ret[2] = (StatePart){ data->qvel, model->nv };
        ret[3] = (StatePart){ data->qacc_warmstart, model->nv };
        ret[4] = (StatePart){ data->act, model->na };
        ret[5] = (StatePart){ data->ctrl, model->nu };
        ret[6] = (StatePart){ place, n_place(m->task) };
}

int mujoco_snapshot(const void *instance, void *ret_snapshot) {
        const MujocoInstance *m = instance;
        double place[MUJOCO_PLACES_MAX];
        StatePart parts[N_STATE_PARTS];
        char *p = ret_snapshot;

        memcpy(place, m->place, sizeof(place));
        state_parts(m, place, parts);
        for (int i = 0; i < N_STATE_PARTS; i++) {
                size_t n_bytes = (size_t) parts[i].n * sizeof(mjtNum);

                memcpy(p, parts[i].numbers, n_bytes);
                p += n_bytes;
        }
        return 0;
}

int mujoco_restore(void *instance, const void *snapshot) {
        MujocoInstance *m = instance;
        StatePart parts[N_STATE_PARTS];
        const char *p = snapshot;

        /* No mj_forward() follows: the next mj_step() computes the same again, and mj_forward() would
         * overwrite the warm start. */
        mj_resetData(m->model, m->data);

        state_parts(m, m->place, parts);
        for (int i = 0; i < N_STATE_PARTS; i++) {
                size_t n_bytes = (size_t) parts[i].n * sizeof(mjtNum);

                memcpy(parts[i].numbers, p, n_bytes);
                p += n_bytes;
                if (!env_state_finite(parts[i].numbers, (size_t) parts[i].n))
                        return -EINVAL;
        }
        if (!m->task->place)
                mujoco_place(m, m->place);
        return 0;
}

/* Physical state: positions and velocities, as Gymnasium's set_state() takes them. */

int mujoco_state_parts(const void *instance, ActordStatePart *ret) {
        const MujocoInstance *m = instance;

        ret[0] = (ActordStatePart){ .name = "qpos", .n_numbers = (uint32_t) m->model->nq };
        ret[1] = (ActordStatePart){ .name = "qvel", .n_numbers = (uint32_t) m->model->nv };
        return 2;
}

int mujoco_get_state(const void *instance, double *ret) {
        const MujocoInstance *m = instance;

        memcpy(ret, m->data->qpos, (size_t) m->model->nq * sizeof(*ret));
        memcpy(ret + m->model->nq, m->data->qvel, (size_t) m->model->nv * sizeof(*ret));
        return 0;
}

/* restore() gets all numbers of the last step; this function gets only positions and velocities. So it
 * computes all other numbers as after a reset. */
int mujoco_set_state(void *instance, const double *state, void *ret_observation) {
        MujocoInstance *m = instance;

        if (!env_state_finite(state, (size_t) m->model->nq + (size_t) m->model->nv))
                return -EINVAL;

        mj_resetData(m->model, m->data);
        memcpy(m->data->qpos, state, (size_t) m->model->nq * sizeof(*state));
        memcpy(m->data->qvel, state + m->model->nq, (size_t) m->model->nv * sizeof(*state));

        return episode_begin(m, ret_observation);
}
