/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Environment=gym:ID: any environment of Gymnasium, in the actor's own process. Only this module links
 * libpython. The interpreter starts, and a user's code is imported, after the sandbox has closed.
 *
 * A step is one call of a method that was looked up before, an action that is made in place, and one copy
 * of the observation into the slot. A seed from the episode's keyed stream goes to reset() and to the
 * random generators that a Python process shares. If an environment draws from those in its steps, they are
 * seeded before each step, so that other environments in the process do not matter.
 *
 * A snapshot is the environment with its wrappers as pickle writes it, if a copy that was saved and
 * restored steps like the original (bridge.py, check()); otherwise the environment is sticky.
 *
 * Slots take turns on the same environments. An environment that remembers something across resets (a
 * running mean, a count of episodes) would remember another slot's episodes, so it begins each episode as a
 * copy of its state when it was made. */
#include "actor/envs/gym/python.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "actor/actor.h"
#include "include/launch.h"
#include "lib/environments.h"

typedef struct GymSpace {
        ActordSpace space;
        long start;       /* of a Discrete's choices */
        Py_ssize_t bytes; /* of an observation */
        char format;      /* of its elements, as the buffer protocol writes it */
} GymSpace;

typedef struct GymInstance {
        PyObject *env, *reset, *step; /* methods are bound once */
        PyObject *convert;            /* converts any observation to the space's kind */
        PyObject *fresh;              /* several numbers: returns an array with the content of `action` */
        PyObject *low, *high;         /* and their bounds, as bytes of doubles */
        /* its state before the first episode, pickled; NULL: it remembers nothing across a reset */
        PyObject *made;
        Py_buffer action;
} GymInstance;

typedef struct GymSnapshot {
        uint64_t n_bytes;
        uint8_t bytes[];
} GymSnapshot;

static const JobSettings *settings;
static const char *name; /* behind the prefix: [MODULE:]ID */
/* The descriptors of the virtual environment and of the directory of PythonPath=, for actors without a root;
 * below 0: the system's Python, and no such directory. */
static int venv_fd, path_fd;
static struct {
        GymSpace observation, action;
        uint32_t choices[ACTORD_CHOICES_MAX]; /* of a MultiDiscrete */
        uint64_t snapshot_bytes;              /* 0: sticky */
        bool draws;                           /* steps draw from generators that the process shares */
        bool remembers;                       /* it remembers something across resets */
        PyObject *seed_globals, *seed_name;
} task;

#define PLACE_MAX 64u

/* A directory is reached through its descriptor if that is open, else where it is mounted. "": there is
 * none. */
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

/* The environment is not needed any more, so errors are ignored. */
static void env_close(PyObject *env) {
        PyObject *closed = PyObject_CallMethod(env, "close", NULL);

        Py_XDECREF(closed);
        PyErr_Clear();
}

static PyObject *make_env(const ActordOption *options, uint32_t n_options) {
        _cleanup_(python_unrefp) PyObject *list = PyList_New(0);

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
        return python_call("make", "(sO)", name, list);
}

static char format_of(uint32_t element) {
        if (element == ACTORD_F32)
                return 'f';
        return element == ACTORD_F64 ? 'd' : 'B';
}

static long bytes_of(char format) {
        if (format == 'd')
                return sizeof(double);
        return format == 'f' ? sizeof(float) : 1;
}

static int space_read(PyObject *tuple, GymSpace *ret) {
        GymSpace s = {};
        PyObject *shape;
        long n, count = 1;

        if (!PyArg_ParseTuple(tuple, "IIOlldd", &s.space.kind, &s.space.element, &shape, &n, &s.start,
                            &s.space.low, &s.space.high))
                return python_tell();

        s.space.n_dims = (uint32_t) PyTuple_GET_SIZE(shape);
        for (uint32_t k = 0; k < s.space.n_dims && k < 4; k++) {
                long length = PyLong_AsLong(PyTuple_GET_ITEM(shape, k));

                if (length < 1 || length > INT32_MAX || __builtin_mul_overflow(count, length, &count))
                        return -EINVAL;
                s.space.shape[k] = (uint32_t) length;
        }
        if (n < 0 || n > INT32_MAX)
                return -EINVAL;
        s.space.n_choices = (uint32_t) n;
        s.format = format_of(s.space.element);
        s.bytes = count * bytes_of(s.format);
        *ret = s;
        return 0;
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

/* Tries on an instance of its own whether an environment can be saved. */
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
                                ENVIRONMENT_GYM_PREFIX "%s: episodes cannot be saved: %s; one that is cut "
                                                       "short by a lost actor begins anew\n",
                                name, reason);
        if (remembers)
                (void) fprintf(stderr,
                                ENVIRONMENT_GYM_PREFIX
                                "%s: what it keeps from one episode to the next is "
                                "forgotten at each reset, since slots share it; for a "
                                "running mean of observations or rewards write "
                                "NormalizeObservations= or NormalizeRewards= in "
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

        task.action.space.element = task.action.space.kind == ACTORD_BOX ? ACTORD_F32 : ACTORD_I32;
        if (!task.seed_name)
                task.seed_name = Py_BuildValue("(s)", "seed");
        task.seed_globals = python_helper("seed_globals");
        return task.seed_name ? task_check(env) : python_tell();
}

static int gym_spec(const ActordOption *options, uint32_t n_options, ActordEnvSpec *ret) {
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
                .n_agents = 1,
                .reward_low = -INFINITY,
                .reward_high = INFINITY,
                .solved_return = threshold,
                .instance_bytes = sizeof(GymInstance),
                .snapshot_bytes = task.snapshot_bytes,
                .flags = ACTORD_ENV_TRUNCATES | (task.snapshot_bytes == 0 ? ACTORD_ENV_STICKY : 0),
                .stack = stack,
        };
        memcpy(ret->action_choices, task.choices, sizeof(ret->action_choices));
        (void) snprintf(ret->name, sizeof(ret->name), ENVIRONMENT_GYM_PREFIX "%.48s", name);
        return 0;
}

/* Looks up the methods of an environment that was made or restored. Takes the reference, also on failure. */
static int instance_bind(GymInstance *i, PyObject *env) {
        Py_XSETREF(i->env, env);
        Py_XSETREF(i->reset, PyObject_GetAttrString(env, "reset"));
        Py_XSETREF(i->step, PyObject_GetAttrString(env, "step"));
        return i->reset && i->step ? 0 : python_tell();
}

static int instance_bind_action(GymInstance *i) {
        _cleanup_(python_unrefp) PyObject *parts = NULL;
        PyObject *array;

        if (task.action.space.kind == ACTORD_DISCRETE)
                return 0;
        parts = python_call("action_parts", "(O)", i->env);
        if (!parts)
                return -EIO;
        if (!PyArg_ParseTuple(parts, "OOSS", &array, &i->fresh, &i->low, &i->high))
                return python_tell();
        Py_INCREF(i->fresh);
        Py_INCREF(i->low);
        Py_INCREF(i->high);
        return PyObject_GetBuffer(array, &i->action, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0
                               ? python_tell()
                               : 0;
}

static void gym_close(void *instance) {
        GymInstance *i = instance;

        if (i->env)
                env_close(i->env);
        if (i->action.obj)
                PyBuffer_Release(&i->action);
        Py_CLEAR(i->env);
        Py_CLEAR(i->reset);
        Py_CLEAR(i->step);
        Py_CLEAR(i->convert);
        Py_CLEAR(i->fresh);
        Py_CLEAR(i->low);
        Py_CLEAR(i->high);
        Py_CLEAR(i->made);
}

static int instance_fill(GymInstance *i, PyObject *env) {
        int r;

        r = instance_bind(i, env);
        if (r < 0)
                return r;
        r = instance_bind_action(i);
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

/* 1: stored; 0: it is not an array of the right kind. */
static int store_array(PyObject *observation, void *ret) {
        Py_buffer view;
        bool fits;

        if (PyObject_GetBuffer(observation, &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0) {
                PyErr_Clear();
                return 0;
        }
        fits = view.len == task.observation.bytes && view.format &&
               view.format[0] == task.observation.format && view.format[1] == 0;
        if (fits)
                memcpy(ret, view.buf, (size_t) view.len);
        PyBuffer_Release(&view);
        return fits;
}

static int store_choice(PyObject *observation, void *ret) {
        long number = PyLong_AsLong(observation);
        int32_t choice;

        if (number == -1 && PyErr_Occurred())
                return python_tell();
        if (number < task.observation.start ||
                        number - task.observation.start >= (long) task.observation.space.n_choices)
                return -ERANGE;
        choice = (int32_t) (number - task.observation.start);
        memcpy(ret, &choice, sizeof(choice));
        return 0;
}

static int observation_store(const GymInstance *i, PyObject *observation, void *ret) {
        _cleanup_(python_unrefp) PyObject *array = NULL;

        if (task.observation.space.kind == ACTORD_DISCRETE)
                return store_choice(observation, ret);
        if (store_array(observation, ret))
                return 0;
        array = PyObject_CallOneArg(i->convert, observation);
        if (!array)
                return python_tell();
        return store_array(array, ret) ? 0 : -EPROTO;
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

static int gym_reset(void *instance, ActordRandom *random, void *ret_observation) {
        GymInstance *i = instance;
        uint32_t seed = actord_random_u32(random) >> 1; /* emulators take 31 bits */
        _cleanup_(python_unrefp) PyObject *number = PyLong_FromUnsignedLong(seed), *result = NULL;
        PyObject *arguments[] = { number };
        int r;

        if (!number)
                return -ENOMEM;
        if (i->made) {
                r = instance_forget(i);
                if (r < 0)
                        return r;
        }
        r = seed_globals(seed);
        if (r < 0)
                return r;
        result = PyObject_Vectorcall(i->reset, arguments, 0, task.seed_name);
        if (!result)
                return python_tell();
        if (!PyTuple_Check(result) || PyTuple_GET_SIZE(result) != 2) {
                PyErr_SetString(PyExc_TypeError, "reset() returned no pair (observation, info)");
                return python_tell();
        }
        return observation_store(i, PyTuple_GET_ITEM(result, 0), ret_observation);
}

static void choices_write(const GymInstance *i, Py_ssize_t n, const double *low, const int32_t *choices) {
        for (Py_ssize_t k = 0; k < n; k++)
                if (i->action.itemsize == sizeof(int32_t))
                        ((int32_t *) i->action.buf)[k] = (int32_t) low[k] + choices[k];
                else
                        ((int64_t *) i->action.buf)[k] = (int64_t) low[k] + choices[k];
}

/* A new array for each step, since an environment may keep it. */
static PyObject *action_make(const GymInstance *i, const void *action) {
        Py_ssize_t n;
        const double *low, *high;
        const float *numbers = action;
        int32_t choice;

        if (task.action.space.kind == ACTORD_DISCRETE) {
                memcpy(&choice, action, sizeof(choice));
                return PyLong_FromLong(task.action.start + choice);
        }
        n = i->action.len / i->action.itemsize;
        low = (const double *) (const void *) PyBytes_AS_STRING(i->low);
        high = (const double *) (const void *) PyBytes_AS_STRING(i->high);
        if (task.action.space.kind == ACTORD_MULTI_DISCRETE) {
                choices_write(i, n, low, action);
                return PyObject_CallNoArgs(i->fresh);
        }
        for (Py_ssize_t k = 0; k < n; k++) {
                double x = fmin(fmax((double) numbers[k], low[k]), high[k]);

                if (i->action.itemsize == sizeof(float))
                        ((float *) i->action.buf)[k] = (float) x;
                else
                        ((double *) i->action.buf)[k] = x;
        }
        return PyObject_CallNoArgs(i->fresh);
}

static int step_read(const GymInstance *i, PyObject *result, void *ret_observation, ActordStep *ret) {
        int terminated, truncated;
        double reward;

        if (!PyTuple_Check(result) || PyTuple_GET_SIZE(result) != 5) {
                PyErr_SetString(PyExc_TypeError,
                                "step() returned no (observation, reward, terminated, truncated, info)");
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
        return observation_store(i, PyTuple_GET_ITEM(result, 0), ret_observation);
}

static int gym_step(void *instance, const void *action, ActordRandom *random, void *ret_observation,
                ActordStep *ret) {
        GymInstance *i = instance;
        _cleanup_(python_unrefp) PyObject *argument = NULL, *result = NULL;

        if (task.draws) {
                int r;

                r = seed_globals(actord_random_u32(random));
                if (r < 0)
                        return r;
        }

        argument = action_make(i, action);
        result = argument ? PyObject_CallOneArg(i->step, argument) : NULL;
        return result ? step_read(i, result, ret_observation, ret) : python_tell();
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
                                ENVIRONMENT_GYM_PREFIX
                                "%s: an episode takes %zd bytes to save, more than twice what it took at "
                                "the start; write Carry=reset if it grows without end\n",
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

        if (task.snapshot_bytes == 0)
                return -ENOTSUP;
        if (s->n_bytes > task.snapshot_bytes - sizeof(GymSnapshot))
                return -EINVAL;
        env = python_call("thaw", "(Oy#)", i->env, s->bytes, (Py_ssize_t) s->n_bytes);
        return env ? instance_bind(i, env) : -EIO;
}

/* There is a picture only under render_mode=rgb_array. */
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
};

__attribute__((visibility("default"))) const ActordEnv *actord_gym_env(
                const JobSettings *job_settings, int python_fd, int python_path_fd);

/* The module's only exported function. It is called outside of the sandbox, so it starts nothing. */
const ActordEnv *actord_gym_env(const JobSettings *job_settings, int python_fd, int python_path_fd) {
        if (python_expose() < 0)
                return NULL;
        python_prepare_callbacks();
        settings = job_settings;
        name = settings->environment + strlen(ENVIRONMENT_GYM_PREFIX);
        venv_fd = python_fd;
        path_fd = python_path_fd;
        return &gym_env;
}
