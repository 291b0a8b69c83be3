/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Environment=mujoco:FILE: a user's own model as a task. Observations and actions follow from the model.
 * Rewards and ends are terms of the job file, or come from a plugin beside the model, or from both.
 *
 * A model may be hostile text. It is read in an actor's sandbox, where its directory is mounted read-only.
 * MuJoCo's errors go to stderr. The spec's name contains a digest of the compiled model. So if the file
 * changes while a job runs, an actor that starts later has another spec, and is refused. */
#include "actor/envs/mujoco/mjcf.h"

#include <assert.h>
#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "actor/envs/mujoco/tasks.h"
#include "actor/envs/mujoco/quantity.h"
#include "actor/envs/mujoco/release.h"
#include "include/actord/mujoco.h"
#include "include/environments.h"
#include "include/launch.h"
#include "lib/cleanup.h"

typedef int (*Judge)(const ActordMujocoStep *step, double *ret_reward, uint8_t *ret_terminated);

#define FRAMES_MAX  10000
#define HORIZON_MAX (1 << 24)

typedef struct MjcfOptions {
        double frame_skip, horizon_steps, reset_noise, n_skipped, velocity_limit;
        Terms reward, terminate;
        char plugin[sizeof(((ActordOption *) NULL)->value)];
} MjcfOptions;

typedef struct MjcfInstance {
        MujocoInstance mujoco; /* first: the engine's functions see only this part */
        MujocoTask task;
        Measures reward, terminate;
        int n_skipped;
        double before[]; /* positions and velocities before a step */
} MjcfInstance;

/* the path of the model's file, without the prefix "mujoco:"; only its last component counts */
static const char *name;
static int directory_fd; /* the model's directory, for actors without a root of their own */
static mjModel *model;
static uint32_t digest;
/* the plugin's actord_mujoco_judge(); NULL: there is no plugin, or it is not loaded yet */
static Judge judge;

#undef ENV_INSTANCE
#define ENV_INSTANCE MjcfOptions
static const EnvOption rows[] = { MJCF_NUMBER_OPTIONS(ENV_OPTION) };

/* MuJoCo's messages may quote the file, so terminal control characters are replaced. */
__attribute__((format(printf, 1, 2))) static int tell(const char *format, ...) {
        char text[1024];
        va_list values;

        va_start(values, format);
        (void) vsnprintf(text, sizeof(text), format, values);
        va_end(values);
        for (char *p = text; *p; p++)
                if (*p == '\n' || *p == '\t')
                        *p = ' ';
                else if ((unsigned char) *p < ' ' || (unsigned char) *p >= 0x7f)
                        *p = '?';
        (void) fprintf(stderr, ENVIRONMENT_MJCF_PREFIX "%s: %s\n", name, text);
        return -EINVAL;
}

/* Options */

static int read_terms(const ActordOption *option, MjcfOptions *ret) {
        bool reward = strcmp(option->key, MJCF_REWARD_KEY) == 0;
        char message[512];
        int r;

        r = terms_parse(option->value, reward ? TERMS_REWARD : TERMS_TERMINATE,
                        reward ? &ret->reward : &ret->terminate, message, sizeof(message));
        return r < 0 ? tell("[Environment] %s: %s", option->key, message) : 0;
}

static int read_option(const ActordOption *option, MjcfOptions *ret) {
        int r;

        r = mujoco_take_engine(option);
        if (r != 0)
                return r < 0 ? r : 0;
        if (!env_option_valid(option))
                return -EINVAL;
        if (strcmp(option->key, MJCF_REWARD_KEY) == 0 || strcmp(option->key, MJCF_TERMINATE_KEY) == 0)
                return read_terms(option, ret);
        if (strcmp(option->key, MJCF_PLUGIN_KEY) == 0) {
                if (strchr(option->value, '/'))
                        return tell("[Environment] %s=%s: it is the name of a file beside the model",
                                        option->key, option->value);
                memcpy(ret->plugin, option->value, sizeof(ret->plugin));
                return 0;
        }
        return env_option_parse(ENV_OPTIONS(rows), option, ret);
}

static int read_options(const ActordOption *options, uint32_t n_options, MjcfOptions *ret) {
        *ret = (MjcfOptions){};
        env_options_begin(ENV_OPTIONS(rows), ret);
        for (uint32_t i = 0; i < n_options; i++) {
                int r;

                r = read_option(&options[i], ret);
                if (r < 0)
                        return r;
        }
        if (ret->reward.n == 0 && !ret->plugin[0])
                return tell("[Environment] Reward= or RewardPlugin= must give the reward of a step, because "
                            "a model has none");
        return 0;
}

/* Model */

static void path_of(const char *file, char *ret, size_t n) {
        (void) snprintf(ret, n, "/proc/self/fd/%d/%s", directory_fd, file);
        if (access(ret, F_OK) < 0)
                (void) snprintf(ret, n, MODEL_DIRECTORY "/%s", file);
}

static const char *file_name(void) {
        const char *slash = strrchr(name, '/');

        return slash ? slash + 1 : name;
}

typedef struct Load {
        char path[512], error[768];
} Load;

static void load(void *userdata) {
        Load *l = userdata;

        model = release_load(l->path, l->error, sizeof(l->error));
}

/* Hashes the compiled model by FNV-1a. The hash only shows whether the model has changed. A collision would
 * deceive only the author of the two models. */
static int take_digest(void) {
        size_t n = (size_t) mj_sizeModel(model);
        _cleanup_free_ uint8_t *bytes = calloc(1, n);
        uint32_t hash = 0x811c9dc5;

        if (!bytes)
                return -ENOMEM;
        mj_saveModel(model, NULL, bytes, (int) n);
        for (size_t i = 0; i < n; i++)
                hash = (hash ^ bytes[i]) * 0x01000193;
        digest = hash;
        return 0;
}

static bool range_is_given(int i) {
        const mjtNum *range = model->actuator_ctrlrange + 2 * (size_t) i;

        return model->actuator_ctrllimited[i] && isfinite(range[0]) && isfinite(range[1]) &&
               range[0] < range[1];
}

static int check_model(void) {
        if (model->nu < 1)
                return tell("the model has no actuators, so there are no actions to learn");
        if (model->nq < 1)
                return tell("the model has no joints, so that nothing moves");
        if (model->nu > MUJOCO_CONTROLS_MAX)
                return tell("the model has %d actuators; the limit is %d", (int) model->nu,
                                MUJOCO_CONTROLS_MAX);
        if (model->nq + model->nv > MUJOCO_OBSERVATION_MAX)
                return tell("the model has %d positions and velocities; the limit is %d",
                                (int) (model->nq + model->nv), MUJOCO_OBSERVATION_MAX);
        if (!(model->opt.timestep > 0))
                return tell("the model's timestep is %g; it must be above 0", model->opt.timestep);
        if (release_keeps_more(model))
                return tell("the model has parts with a state that a snapshot does not hold: delays, "
                            "sleeping, or plugins");
        for (int i = 0; i < model->nu; i++)
                if (!range_is_given(i))
                        return tell("actuator %d (%s) has no ctrlrange, so the range of its control is "
                                    "not known",
                                        i, model->names + model->name_actuatoradr[i]);
        return 0;
}

static void model_free(void) {
        if (model)
                mj_deleteModel(model);
        model = NULL;
}

static int model_accept(void) {
        int r;

        r = check_model();
        if (r < 0)
                return r;
        return take_digest();
}

/* Loads the model once in a process, since an actor has one environment. */
static int model_load(void) {
        Load l = {};
        int r;

        if (model)
                return 0;
        path_of(file_name(), l.path, sizeof(l.path));
        r = mujoco_guard(load, &l);
        if (r < 0 || !model)
                return tell("MuJoCo %s says: %s", mj_versionString(),
                                r < 0 ? mujoco_guard_message() : l.error);
        r = model_accept();
        if (r < 0)
                model_free();
        return r;
}

static int plugin_take(const char *plugin) {
        char path[512];
        void *handle;

        if (!plugin[0] || judge)
                return 0;
        path_of(plugin, path, sizeof(path));
        handle = dlopen(path, RTLD_NOW | RTLD_LOCAL); /* it stays loaded */
        if (!handle)
                return tell("[Environment] " MJCF_PLUGIN_KEY "=%s does not load: %s", plugin, dlerror());
        judge = (Judge) dlsym(handle, "actord_mujoco_judge");
        if (!judge)
                return tell("[Environment] " MJCF_PLUGIN_KEY "=%s defines no actord_mujoco_judge()", plugin);
        return 0;
}

/* Task */

static void mjcf_place(const MujocoInstance *m, double *ret) {
        const MjcfInstance *i = (const MjcfInstance *) m;

        measures_keep(&i->reward, m->model, m->data, ret);
        measures_keep(&i->terminate, m->model, m->data, ret);
}

static void mjcf_judge(const MujocoInstance *m, double velocity, double ctrl_squares, ActordStep *ret) {
        const MjcfInstance *i = (const MjcfInstance *) m;
        MeasureOf of = {
                .model = m->model,
                .data = m->data,
                .before = m->place,
                .seconds = m->model->opt.timestep * i->task.frame_skip,
                .ctrl_squares = ctrl_squares,
                .n_skipped = i->n_skipped,
        };

        of.terminated = measures_any(&i->terminate, &of);
        ret->reward = measures_sum(&i->reward, &of);
        ret->terminated = of.terminated;
}

static bool ranges_differ(void) {
        const mjtNum *first = model->actuator_ctrlrange;

        for (int i = 1; i < model->nu; i++) {
                const mjtNum *range = first + 2 * (size_t) i;

                if (range[0] != first[0] || range[1] != first[1])
                        return true;
        }
        return false;
}

/* Fills everything in an instance except its mjData. */
static int instance_fill(const ActordOption *options, uint32_t n_options, MjcfInstance *ret) {
        MjcfOptions o;
        char message[256];
        int n_slots = 0, r;

        r = read_options(options, n_options, &o);
        if (r < 0)
                return r;
        r = model_load();
        if (r < 0)
                return r;
        r = plugin_take(o.plugin);
        if (r < 0)
                return r;
        if (o.n_skipped > model->nq)
                return tell("[Environment] SkipPositions=%g: the model has %d positions", o.n_skipped,
                                (int) model->nq);
        r = measures_find(&o.reward, model, &n_slots, &ret->reward, message, sizeof(message));
        if (r < 0)
                return tell("[Environment] " MJCF_REWARD_KEY ": %s", message);
        r = measures_find(&o.terminate, model, &n_slots, &ret->terminate, message, sizeof(message));
        if (r < 0)
                return tell("[Environment] " MJCF_TERMINATE_KEY ": %s", message);

        static_assert(2 * TERMS_MAX <= MUJOCO_PLACES_MAX, "each velocity is kept");
        ret->n_skipped = (int) o.n_skipped;
        ret->task = (MujocoTask){
                .name = "mujoco",
                .model = &model,
                .frame_skip = (int) o.frame_skip,
                .horizon_steps = (uint32_t) o.horizon_steps,
                .solved_return = NAN,
                .velocity_limit = o.velocity_limit,
                .scaled_controls = ranges_differ(),
                .defaults = { .reset_noise_scale = o.reset_noise, .exclude_current_positions = true },
                .n_excluded = ret->n_skipped,
                .n_place = n_slots,
                .place = n_slots > 0 ? mjcf_place : NULL,
                .judge = mjcf_judge,
                .seen = MUJOCO_SEEN_ASLANT,
                .seen_width = 1.4 * model->stat.extent,
                .seen_height = model->stat.center[2],
        };
        return 0;
}

static int mjcf_spec(const ActordOption *options, uint32_t n_options, ActordEnvSpec *ret) {
        MjcfInstance instance = {};
        ActordEnvSpec spec;
        int r;

        r = instance_fill(options, n_options, &instance);
        if (r < 0)
                return r;
        r = mujoco_spec(&instance.task, 0, NULL, 0, &spec);
        if (r < 0)
                return r;

        spec.instance_bytes = sizeof(MjcfInstance) + (size_t) (model->nq + model->nv) * sizeof(double);
        memset(spec.name, 0, sizeof(spec.name));
        (void) snprintf(spec.name, sizeof(spec.name), ENVIRONMENT_MJCF_PREFIX "%.40s %08x", file_name(),
                        digest);
        *ret = spec;
        return 0;
}

static int mjcf_init(void *instance, const ActordOption *options, uint32_t n_options) {
        MjcfInstance *i = instance;
        int r;

        *i = (MjcfInstance){};
        r = instance_fill(options, n_options, i);
        return r < 0 ? r : mujoco_init(&i->task, 0, &i->mujoco, NULL, 0);
}

/* Prints why the model cannot be simulated, and advice for its author. */
static void tell_warning(const mjData *data) {
        const mjWarningStat *w = data->warning;

        if (w[mjWARN_BADQPOS].number > 0 || w[mjWARN_BADQVEL].number > 0 || w[mjWARN_BADQACC].number > 0)
                (void) tell("the simulation diverged: a smaller timestep, more damping or weaker actuators "
                            "may help");
        else if (w[mjWARN_CONTACTFULL].number > 0 || w[mjWARN_CNSTRFULL].number > 0)
                (void) tell("there is no room for all contacts: ask for more in the model's <size> "
                            "element");
        else
                (void) tell("MuJoCo warned about the simulation, which cannot be trusted any more");
}

static int judge_by_plugin(MjcfInstance *i, ActordStep *step) {
        const mjData *d = i->mujoco.data;
        const ActordMujocoStep facts = {
                .abi = ACTORD_MUJOCO_ABI,
                .struct_bytes = sizeof(facts),
                .n_positions = (uint32_t) model->nq,
                .n_velocities = (uint32_t) model->nv,
                .n_controls = (uint32_t) model->nu,
                .n_bodies = (uint32_t) model->nbody,
                .n_sensors = (uint32_t) model->nsensordata,
                .seconds = model->opt.timestep * i->task.frame_skip,
                .positions = d->qpos,
                .velocities = d->qvel,
                .positions_before = i->before,
                .velocities_before = i->before + model->nq,
                .controls = d->ctrl,
                .body_positions = d->xpos,
                .sensors = d->sensordata,
        };
        uint8_t terminated = 0;
        double reward = 0;
        int r;

        r = judge(&facts, &reward, &terminated);
        if (r < 0)
                return r;
        if (!isfinite(reward) || terminated > 1)
                return tell("[Environment] " MJCF_PLUGIN_KEY
                            ": a reward is not finite, or a flag is not 0 or 1");
        step->reward += reward;
        step->terminated |= terminated;
        return 0;
}

static int mjcf_step(void *instance, const void *action, ActordRandom *random, void *ret_observation,
                ActordStep *ret) {
        MjcfInstance *i = instance;
        int r;

        if (judge)
                (void) mujoco_get_state(instance, i->before);
        r = mujoco_step(instance, action, random, ret_observation, ret);
        if (r == -EIO)
                tell_warning(i->mujoco.data);
        return r < 0 || !judge ? r : judge_by_plugin(i, ret);
}

static const ActordEnv mjcf_env = {
        .abi = ACTORD_ENV_ABI,
        .struct_bytes = sizeof(ActordEnv),
        .spec = mjcf_spec,
        .init = mjcf_init,
        .reset = mujoco_reset,
        .step = mjcf_step,
        .snapshot = mujoco_snapshot,
        .restore = mujoco_restore,
        .close = mujoco_close,
        .state_parts = mujoco_state_parts,
        .get_state = mujoco_get_state,
        .set_state = mujoco_set_state,
        .draw = mujoco_draw,
};

const ActordEnv *actord_mjcf_env(const JobSettings *settings, int model_fd) {
        if (mj_version() != mjVERSION_HEADER)
                return NULL;
        model_free();
        judge = NULL;
        name = settings->environment + strlen(ENVIRONMENT_MJCF_PREFIX);
        directory_fd = model_fd;
        return &mjcf_env;
}
