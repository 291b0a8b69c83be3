/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Environment=gym:ID, any environment of Gymnasium, in the actor's own process. Also pettingzoo:MODULE, an
 * environment of several agents; parallel.c reads its dictionaries. Only this module links libpython. The
 * interpreter starts inside the finished sandbox. Only then a user's code is imported.
 *
 * A step is one call of a method that was looked up before, and one copy of the observation into the slot.
 * The action is written into a buffer that is kept, and the environment gets a new object made of it, which
 * it may keep. reset() gets a seed from the episode's own random stream. So do the random generators that
 * all code of a Python process shares. If an environment draws from these generators in its steps or resets,
 * they are seeded before each step, so that other environments in the process have no influence. Before an
 * environment is made, they are seeded with the job's seed, so that all instances are made alike.
 *
 * A snapshot is the environment with its wrappers, as pickle writes it. This is used only if a saved and
 * restored copy steps like the original (bridge.py, check()). Otherwise each slot has an environment of its
 * own, which stays in this process (a sticky one, actor/host.h).
 *
 * Slots take turns on the same environments. An environment may keep state across resets (a running mean, a
 * count of episodes), and would carry it from one slot's episode to another slot's. So such an environment
 * begins each episode as a copy of its initial state. */
#include "actor/envs/gym/parallel.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "actor/actor.h"
#include "include/launch.h"
#include "include/environments.h"

typedef struct GymInstance {
        PyObject *env, *reset, *step; /* methods are bound once */
        PyObject *convert;            /* converts any observation to the space's kind */
        /* the environment's state before the first episode, pickled; NULL: a reset clears all state */
        PyObject *made;
        GymAction action;
        Parallel parallel; /* for several agents */
} GymInstance;

typedef struct GymSnapshot {
        uint64_t n_bytes;
        uint8_t bytes[];
} GymSnapshot;

static const JobSettings *settings;
static const char *name; /* as in Environment=, with the prefix */
static bool of_agents;   /* the prefix is pettingzoo: */
/* Descriptors of the virtual environment and of the directory of PythonPath=, for actors that have no root
 * directory of their own. venv_fd negative: the system's Python; path_fd negative: no PythonPath=. */
static int venv_fd, path_fd;
static struct {
        GymSpace observation, action;
        uint32_t choices[ACTORD_CHOICES_MAX]; /* of a MultiDiscrete action */
        uint64_t snapshot_bytes;              /* 0: the environment is sticky */
        bool draws;                           /* its steps may draw from generators of the process */
        bool remembers;                       /* a reset does not clear all of its state */
        ParallelTask parallel;
        PyObject *seed_globals, *seed_name;
} task;

#define PLACE_MAX 64u

/* The path of a directory: through its descriptor if the actor has a /proc, otherwise the place where it is
 * mounted. "": there is no directory. */
static const char *place_of(int fd, const char *mounted, char ret[PLACE_MAX]) {
        (void) snprintf(ret, PLACE_MAX, "/proc/self/fd/%d", fd);
        if (fd < 0)
                ret[0] = '\0';
        else if (access(ret, F_OK) < 0)
                (void) snprintf(ret, PLACE_MAX, "%s", mounted);
        return ret;
}

static int start(void) {
        char root[PLACE_MAX], path[PLACE_MAX];

        return python_start(settings->python, place_of(venv_fd, PYTHON_DIRECTORY, root),
                        settings->python_path, place_of(path_fd, PYTHON_PATH_DIRECTORY, path));
}

/* Errors of close() are ignored, since the environment is not needed any more. */
static void env_close(PyObject *env) {
        PyObject *closed = PyObject_CallMethod(env, "close", NULL);

        Py_XDECREF(closed);
        PyErr_Clear();
}

static PyObject *make_env(const ActordOption *options, uint32_t n_options) {
        uint32_t seed = (uint32_t) (settings->seed ^ settings->seed >> 32);
        _cleanup_(python_unrefp) PyObject *list = PyList_New(0), *seeded = NULL;

        for (uint32_t k = 0; list && k < n_options; k++) {
                _cleanup_(python_unrefp) PyObject *pair =
                                Py_BuildValue("(ss)", options[k].key, options[k].value);

                if (!pair || PyList_Append(list, pair) < 0)
                        break;
        }
        if (!list || PyErr_Occurred()) {
                (void) python_tell();
                return NULL;
        }
        seeded = python_call("seed_globals", "(I)", seed);
        if (!seeded)
                return NULL;
        return python_call(of_agents ? "make_parallel" : "make", "(sO)", strchr(name, ':') + 1, list);
}

static int choices_read(PyObject *tuple) {
        for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(tuple) && k < (Py_ssize_t) ACTORD_CHOICES_MAX; k++) {
                long n = PyLong_AsLong(PyTuple_GET_ITEM(tuple, k));

                if (n < 1 || n > INT32_MAX)
                        return -EINVAL;
                task.choices[k] = (uint32_t) n;
        }
        return 0;
}

/* Tries on a separate instance whether the environment can be saved. */
static int task_check(PyObject *env) {
        _cleanup_(python_unrefp) PyObject *found = python_call("check", "(O)", env);
        unsigned long long bytes;
        const char *reason;
        int draws, remembers;

        if (!found)
                return -EIO;
        if (!PyArg_ParseTuple(found, "Kpps", &bytes, &draws, &remembers, &reason))
                return python_tell();
        if (bytes == 0)
                (void) fprintf(stderr,
                                "%s: episodes cannot be saved: %s; if an actor is lost, its episode "
                                "begins anew\n",
                                name, reason);
        if (remembers)
                (void) fprintf(stderr,
                                "%s: each reset clears the data that it keeps of earlier episodes, "
                                "because slots share the environment; for a running mean of observations "
                                "or rewards write NormalizeObservations= or NormalizeRewards= in "
                                "[Learner]\n",
                                name);
        task.snapshot_bytes = bytes > 0 ? sizeof(GymSnapshot) + bytes : 0;
        task.draws = draws;
        task.remembers = remembers;
        return 0;
}

static int task_learn(PyObject *env, uint32_t *ret_horizon, double *ret_threshold, uint32_t *ret_stack) {
        _cleanup_(python_unrefp) PyObject *described = python_call("describe", "(Os)", env, name);
        PyObject *observation, *action, *choices;
        int r;

        if (!described)
                return -EINVAL;
        if (!PyArg_ParseTuple(described, "OOIdIO", &observation, &action, ret_horizon, ret_threshold,
                            ret_stack, &choices))
                return python_tell();
        r = choices_read(choices);
        if (r < 0)
                return r;
        r = space_read(observation, &task.observation);
        if (r < 0)
                return r;
        r = space_read(action, &task.action);
        if (r < 0)
                return r;

        if (of_agents) {
                r = parallel_learn(&task.parallel, env, &task.observation);
                if (r < 0)
                        return r;
        }

        task.action.space.element = task.action.space.kind == ACTORD_BOX ? ACTORD_F32 : ACTORD_I32;
        if (!task.seed_name)
                task.seed_name = Py_BuildValue("(s)", "seed");
        task.seed_globals = python_helper("seed_globals");
        return task.seed_name ? task_check(env) : python_tell();
}

static int spec_read(const ActordOption *options, uint32_t n_options, ActordEnvSpec *ret) {
        _cleanup_(python_unrefp) PyObject *env = NULL;
        uint32_t horizon, stack;
        double threshold;
        int r;

        r = start();
        if (r < 0)
                return r;
        env = make_env(options, n_options);
        if (!env)
                return -EINVAL;
        r = task_learn(env, &horizon, &threshold, &stack);
        env_close(env);
        if (r < 0)
                return r;

        *ret = (ActordEnvSpec){
                .observation = task.observation.space,
                .action = task.action.space,
                .horizon_steps = horizon,
                .n_agents = of_agents ? task.parallel.n_agents : 1,
                .reward_low = -INFINITY,
                .reward_high = INFINITY,
                .solved_return = threshold,
                .instance_bytes = sizeof(GymInstance),
                .snapshot_bytes = task.snapshot_bytes,
                .flags = ACTORD_ENV_TRUNCATES | (task.snapshot_bytes == 0 ? ACTORD_ENV_STICKY : 0) |
                         (of_agents ? ACTORD_ENV_COME_AND_GO : 0),
                .n_shared = (uint32_t) (task.parallel.shared.bytes / (Py_ssize_t) sizeof(float)),
                .stack = stack,
        };
        memcpy(ret->action_choices, task.choices, sizeof(ret->action_choices));
        (void) snprintf(ret->name, sizeof(ret->name), "%.52s", name);
        return 0;
}

static int gym_spec(const ActordOption *options, uint32_t n_options, ActordEnvSpec *ret) {
        int r = spec_read(options, n_options, ret);

        return r < 0 && python_missed(ret->name, sizeof(ret->name)) ? -ENOPKG : r;
}

/* Looks up the methods of an environment that was made or restored. Takes over the reference, even on
 * failure. */
static int instance_bind(GymInstance *i, PyObject *env) {
        PyObject *called = env;

        Py_XSETREF(i->env, env);
        if (of_agents) {
                int r;

                r = parallel_bind(&i->parallel, &task.parallel, env);
                if (r < 0)
                        return r;
                called = i->parallel.world;
        }
        Py_XSETREF(i->reset, PyObject_GetAttrString(called, "reset"));
        Py_XSETREF(i->step, PyObject_GetAttrString(called, "step"));
        return i->reset && i->step ? 0 : python_tell();
}

static void gym_close(void *instance) {
        GymInstance *i = instance;

        if (i->env)
                env_close(i->env);
        action_release(&i->action);
        parallel_release(&i->parallel);
        Py_CLEAR(i->env);
        Py_CLEAR(i->reset);
        Py_CLEAR(i->step);
        Py_CLEAR(i->convert);
        Py_CLEAR(i->made);
}

static int instance_fill(GymInstance *i, PyObject *env) {
        int r;

        r = instance_bind(i, env);
        if (r < 0)
                return r;
        r = action_bind(&i->action, &task.action, i->env);
        if (r < 0)
                return r;
        i->convert = python_call("as_array", "(O)", i->env);
        if (!i->convert)
                return -EIO;
        if (!task.remembers)
                return 0;
        i->made = python_call("freeze", "(O)", i->env);
        return i->made ? 0 : -EIO;
}

static int gym_init(void *instance, const ActordOption *options, uint32_t n_options) {
        GymInstance *i = instance;
        PyObject *env;
        int r;

        env = make_env(options, n_options);
        if (!env)
                return -EINVAL;
        r = instance_fill(i, env);
        if (r < 0)
                gym_close(i);
        return r;
}

static int seed_globals(uint32_t seed) {
        _cleanup_(python_unrefp) PyObject *number = PyLong_FromUnsignedLong(seed);
        _cleanup_(python_unrefp) PyObject *done =
                        number ? PyObject_CallOneArg(task.seed_globals, number) : NULL;

        return done ? 0 : python_tell();
}

static int instance_forget(GymInstance *i) {
        PyObject *env = python_call("thaw", "(OO)", i->env, i->made);

        return env ? instance_bind(i, env) : -EIO;
}

/* Calls reset(); NULL, after a message: it failed. */
static PyObject *reset_call(GymInstance *i, uint32_t seed) {
        _cleanup_(python_unrefp) PyObject *number = PyLong_FromUnsignedLong(seed), *result = NULL;
        PyObject *arguments[] = { number };

        if (number)
                result = PyObject_Vectorcall(i->reset, arguments, 0, task.seed_name);
        if (!result) {
                (void) python_tell();
                return NULL;
        }
        if (!PyTuple_Check(result) || PyTuple_GET_SIZE(result) != 2) {
                PyErr_SetString(PyExc_TypeError, "reset() did not return a pair (observation, info)");
                (void) python_tell();
                return NULL;
        }
        return TAKE_PTR(result);
}

static ParallelSpaces spaces_of(const GymInstance *i) {
        return (ParallelSpaces){ .observation = &task.observation,
                .action = &task.action,
                .memory = &i->action,
                .convert = i->convert };
}

static int gym_reset(void *instance, ActordRandom *random, void *ret_observation) {
        GymInstance *i = instance;
        uint32_t seed = actord_random_u32(random) >> 1; /* emulators accept seeds of 31 bits */
        const ParallelSpaces spaces = spaces_of(i);
        _cleanup_(python_unrefp) PyObject *result = NULL;
        PyObject *first;
        int r;

        if (i->made) {
                r = instance_forget(i);
                if (r < 0)
                        return r;
        }
        r = seed_globals(seed);
        if (r < 0)
                return r;
        result = reset_call(i, seed);
        if (!result)
                return -EIO;
        first = PyTuple_GET_ITEM(result, 0);
        return of_agents ? parallel_begin(&i->parallel, &task.parallel, &spaces, first, ret_observation)
                         : space_store(&task.observation, i->convert, first, ret_observation);
}

static int step_read(const GymInstance *i, PyObject *result, void *ret_observation, ActordStep *ret) {
        int terminated, truncated;
        double reward;

        if (!PyTuple_Check(result) || PyTuple_GET_SIZE(result) != 5) {
                PyErr_SetString(PyExc_TypeError,
                                "step() did not return (observation, reward, terminated, truncated, "
                                "info)");
                return python_tell();
        }
        reward = PyFloat_AsDouble(PyTuple_GET_ITEM(result, 1));
        if (reward == -1.0 && PyErr_Occurred())
                return python_tell();
        terminated = PyObject_IsTrue(PyTuple_GET_ITEM(result, 2));
        truncated = PyObject_IsTrue(PyTuple_GET_ITEM(result, 3));
        if (terminated < 0 || truncated < 0)
                return python_tell();

        *ret = (ActordStep){
                .reward = reward, .terminated = (uint8_t) terminated, .truncated = (uint8_t) truncated
        };
        return space_store(&task.observation, i->convert, PyTuple_GET_ITEM(result, 0), ret_observation);
}

static int gym_step(void *instance, const void *action, ActordRandom *random, void *ret_observation,
                ActordStep *ret) {
        GymInstance *i = instance;
        const ParallelSpaces spaces = spaces_of(i);
        _cleanup_(python_unrefp) PyObject *argument = NULL, *result = NULL;

        if (task.draws) {
                int r;

                r = seed_globals(actord_random_u32(random));
                if (r < 0)
                        return r;
        }

        argument = of_agents ? parallel_actions(&i->parallel, &task.parallel, &spaces, action)
                             : action_make(&i->action, &task.action, action);
        result = argument ? PyObject_CallOneArg(i->step, argument) : NULL;
        if (!result)
                return python_tell();
        return of_agents ? parallel_read(&i->parallel, &task.parallel, &spaces, result, ret_observation, ret)
                         : step_read(i, result, ret_observation, ret);
}

static int gym_snapshot(const void *instance, void *ret_snapshot) {
        const GymInstance *i = instance;
        GymSnapshot *snapshot = ret_snapshot;
        _cleanup_(python_unrefp) PyObject *bytes = NULL;
        char *data;
        Py_ssize_t n;

        if (task.snapshot_bytes == 0)
                return -ENOTSUP;
        bytes = python_call("freeze", "(O)", i->env);
        if (!bytes)
                return -EIO;
        if (PyBytes_AsStringAndSize(bytes, &data, &n) < 0)
                return python_tell();
        if ((uint64_t) n > task.snapshot_bytes - sizeof(GymSnapshot)) {
                (void) fprintf(stderr,
                                "%s: an episode takes %zd bytes to save, more than twice what it took at "
                                "the start; write Carry=reset if it keeps growing\n",
                                name, n);
                return -EFBIG;
        }
        snapshot->n_bytes = (uint64_t) n;
        memcpy(snapshot->bytes, data, (size_t) n);
        return 0;
}

static int gym_restore(void *instance, const void *snapshot) {
        const GymSnapshot *s = snapshot;
        GymInstance *i = instance;
        PyObject *env;
        int r;

        if (task.snapshot_bytes == 0)
                return -ENOTSUP;
        if (s->n_bytes > task.snapshot_bytes - sizeof(GymSnapshot))
                return -EINVAL;
        env = python_call("thaw", "(Oy#)", i->env, s->bytes, (Py_ssize_t) s->n_bytes);
        if (!env)
                return -EIO;
        r = instance_bind(i, env);
        if (r < 0 || !of_agents)
                return r;
        return parallel_look(&i->parallel, &task.parallel);
}

static int gym_active(const void *instance, uint8_t *ret) {
        const GymInstance *i = instance;

        memcpy(ret, i->parallel.active, task.parallel.n_agents);
        return 0;
}

static int gym_shared(const void *instance, float *ret) {
        const GymInstance *i = instance;

        return parallel_shared(&i->parallel, &task.parallel, ret);
}

/* An environment has pictures only with render_mode=rgb_array. */
static int gym_paint(const void *instance, ActordFrame *ret_frame, uint8_t *ret_pixels) {
        const GymInstance *i = instance;
        _cleanup_(python_unrefp) PyObject *found =
                        python_call("frame", "(OI)", i->env, (unsigned) ACTORD_FRAME_SIDE_MAX);
        const char *pixels;
        Py_ssize_t n;

        if (!found)
                return -EIO;
        if (!PyArg_ParseTuple(found, "IIy#d", &ret_frame->width, &ret_frame->height, &pixels, &n,
                            &ret_frame->step_seconds))
                return python_tell();
        if (ret_frame->width < 1 || ret_frame->width > ACTORD_FRAME_SIDE_MAX || ret_frame->height < 1 ||
                        ret_frame->height > ACTORD_FRAME_SIDE_MAX ||
                        (uint64_t) n != UINT64_C(3) * ret_frame->width * ret_frame->height)
                return -EPROTO;
        memcpy(ret_pixels, pixels, (size_t) n);
        return 0;
}

static const ActordEnv gym_env = {
        .abi = ACTORD_ENV_ABI,
        .struct_bytes = sizeof(ActordEnv),
        .spec = gym_spec,
        .init = gym_init,
        .reset = gym_reset,
        .step = gym_step,
        .snapshot = gym_snapshot,
        .restore = gym_restore,
        .close = gym_close,
        .paint = gym_paint,
        .active = gym_active,
        .shared = gym_shared,
};

__attribute__((visibility("default"))) const ActordEnv *actord_gym_env(
                const JobSettings *job_settings, int python_fd, int python_path_fd);

/* The module's only exported function. It is called outside of the sandbox, so it starts nothing. */
const ActordEnv *actord_gym_env(const JobSettings *job_settings, int python_fd, int python_path_fd) {
        if (python_expose() < 0)
                return NULL;
        python_prepare_callbacks();
        settings = job_settings;
        name = settings->environment;
        of_agents = strncmp(name, ENVIRONMENT_PETTINGZOO_PREFIX, strlen(ENVIRONMENT_PETTINGZOO_PREFIX)) == 0;
        venv_fd = python_fd;
        path_fd = python_path_fd;
        return &gym_env;
}
