/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* After a reset or a step, `agents` of the environment lists the agents that are present. A step makes one
 * dictionary with their actions, and looks up each agent in the dictionaries that it returns. */
#include "actor/envs/gym/parallel.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Stores a new reference in *place. Drops the one that an earlier call stored: a spec may be asked for more
 * than once. */
static void keep(PyObject **place, PyObject *borrowed) {
        Py_INCREF(borrowed);
        Py_XSETREF(*place, borrowed);
}

int parallel_learn(ParallelTask *task, PyObject *env, GymSpace *observation) {
        _cleanup_(python_unrefp) PyObject *described = python_call("describe_agents", "(O)", env);
        PyObject *agents, *numbers, *absent, *convert;
        double low, high;
        Py_ssize_t n;

        if (!described)
                return -EINVAL;
        if (!PyArg_ParseTuple(described, "O!O!SOndd", &PyTuple_Type, &agents, &PyDict_Type, &numbers,
                            &absent, &convert, &n, &low, &high))
                return python_tell();
        keep(&task->agents, agents);
        keep(&task->numbers, numbers);
        keep(&task->absent, absent);
        keep(&task->convert_shared, convert);
        task->n_agents = (uint32_t) PyTuple_GET_SIZE(task->agents);
        Py_XSETREF(task->word_agents, PyUnicode_InternFromString("agents"));
        if (!task->word_agents || PyBytes_GET_SIZE(task->absent) < observation->bytes)
                return python_tell();

        task->shared = (GymSpace){
                .space = { .kind = ACTORD_BOX }, .bytes = n * (Py_ssize_t) sizeof(float), .format = 'f'
        };
        /* A critic reads the shared state as a part of the observation, so the bounds must include it. */
        if (n > 0 && observation->format == 'f' && observation->space.kind == ACTORD_BOX) {
                observation->space.low = fmin(observation->space.low, low);
                observation->space.high = fmax(observation->space.high, high);
        }
        return 0;
}

/* Sets ret[a] to 1 for each agent a that is present, and to 0 for all others. Returns how many are present,
 * or a negative errno. */
static int present(const Parallel *p, const ParallelTask *task, uint8_t *ret) {
        _cleanup_(python_unrefp) PyObject *agents = PyObject_GetAttr(p->world, task->word_agents);
        _cleanup_(python_unrefp) PyObject *list =
                        agents ? PySequence_Fast(agents, "agents is not a list") : NULL;
        int n = 0;

        if (!list)
                return python_tell();
        memset(ret, 0, task->n_agents);
        for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(list); k++) {
                PyObject *agent = PySequence_Fast_GET_ITEM(list, k);
                PyObject *number = PyDict_GetItemWithError(task->numbers, agent);
                long a;

                if (!number && !PyErr_Occurred())
                        (void) PyErr_Format(PyExc_ValueError,
                                        "agents has %R, which is not in possible_agents", agent);
                if (!number)
                        return python_tell();
                a = PyLong_AsLong(number);
                n += !ret[a];
                ret[a] = 1;
        }
        return n;
}

/* In the last state of an episode no agent is present. This state still belongs to the agents that acted, so
 * all agents count as active. */
int parallel_look(Parallel *p, const ParallelTask *task) {
        int n = present(p, task, p->active);

        if (n == 0)
                memset(p->active, 1, task->n_agents);
        return n < 0 ? n : 0;
}

int parallel_bind(Parallel *p, const ParallelTask *task, PyObject *env) {
        Py_XSETREF(p->world, PyObject_GetAttrString(env, "world"));
        if (!p->world)
                return python_tell();
        if (task->shared.bytes == 0)
                return 0;
        Py_XSETREF(p->state, PyObject_GetAttrString(p->world, "state"));
        return p->state ? 0 : python_tell();
}

void parallel_release(Parallel *p) {
        Py_CLEAR(p->world);
        Py_CLEAR(p->state);
}

/* One agent's entry in a dictionary, borrowed; NULL, after a message: there is none. */
static PyObject *entry(const ParallelTask *task, PyObject *dictionary, uint32_t a, const char *what) {
        PyObject *agent = PyTuple_GET_ITEM(task->agents, a);
        PyObject *found = PyDict_GetItemWithError(dictionary, agent);

        if (!found && !PyErr_Occurred())
                (void) PyErr_Format(
                                PyExc_ValueError, "there is no entry for agent %R in the %s", agent, what);
        if (!found)
                (void) python_tell();
        return found;
}

/* Writes the observations of agents to `ret`. Agents in `must` must have an observation; others may have
 * one. */
static int observe(const ParallelTask *task, const ParallelSpaces *spaces, PyObject *observations,
                const uint8_t *must, void *ret) {
        Py_ssize_t n = spaces->observation->bytes;
        uint8_t *to = ret;
        int r;

        if (spaces->observation->space.kind == ACTORD_DISCRETE)
                n = sizeof(int32_t);
        for (uint32_t a = 0; a < task->n_agents; a++, to += n) {
                PyObject *found = PyDict_GetItemWithError(observations, PyTuple_GET_ITEM(task->agents, a));

                if (!found && must[a])
                        found = entry(task, observations, a, "observations");
                if (!found && must[a])
                        return -EIO;
                if (!found) {
                        memcpy(to, PyBytes_AS_STRING(task->absent), (size_t) n);
                        continue;
                }
                r = space_store(spaces->observation, spaces->convert, found, to);
                if (r < 0)
                        return r;
        }
        return 0;
}

int parallel_begin(Parallel *p, const ParallelTask *task, const ParallelSpaces *spaces,
                PyObject *observations, void *ret) {
        int n;

        if (!PyDict_Check(observations)) {
                PyErr_SetString(PyExc_TypeError, "reset() did not return a dictionary of observations");
                return python_tell();
        }
        n = present(p, task, p->active);
        if (n < 0)
                return n;
        if (n == 0) {
                PyErr_SetString(PyExc_ValueError, "agents is empty after reset()");
                return python_tell();
        }
        return observe(task, spaces, observations, p->active, ret);
}

PyObject *parallel_actions(const Parallel *p, const ParallelTask *task, const ParallelSpaces *spaces,
                const void *actions) {
        _cleanup_(python_unrefp) PyObject *all = PyDict_New();
        const GymSpace *space = spaces->action;
        const uint8_t *from = actions;
        size_t bytes = sizeof(int32_t); /* a float has the same size */

        for (uint32_t k = 0; k < space->space.n_dims; k++)
                bytes *= space->space.shape[k];
        for (uint32_t a = 0; all && a < task->n_agents; a++, from += bytes) {
                _cleanup_(python_unrefp) PyObject *action = NULL;

                if (!p->active[a])
                        continue;
                action = action_make(spaces->memory, space, from);
                if (!action || PyDict_SetItem(all, PyTuple_GET_ITEM(task->agents, a), action) < 0)
                        return NULL;
        }
        return TAKE_PTR(all);
}

/* Takes the reward and the end of an agent that acted. An agent that has ended must have left. */
static int read_step(const ParallelTask *task, PyObject *result, uint32_t a, bool there, ActordStep *ret) {
        PyObject *reward = entry(task, PyTuple_GET_ITEM(result, 1), a, "rewards"), *terminated, *truncated;
        int ends, cut;

        terminated = reward ? entry(task, PyTuple_GET_ITEM(result, 2), a, "terminations") : NULL;
        truncated = terminated ? entry(task, PyTuple_GET_ITEM(result, 3), a, "truncations") : NULL;
        if (!truncated)
                return -EIO;
        ret->reward = PyFloat_AsDouble(reward);
        if (ret->reward == -1.0 && PyErr_Occurred())
                return python_tell();
        ends = PyObject_IsTrue(terminated);
        cut = PyObject_IsTrue(truncated);
        if (ends < 0 || cut < 0)
                return python_tell();
        if ((ends || cut) && there) {
                (void) PyErr_Format(PyExc_ValueError,
                                "agent %R was terminated or truncated, and agents still has it",
                                PyTuple_GET_ITEM(task->agents, a));
                return python_tell();
        }
        ret->terminated = (uint8_t) ends;
        ret->truncated = (uint8_t) cut;
        return 0;
}

static int read_steps(const Parallel *p, const ParallelTask *task, PyObject *result, const uint8_t *there,
                ActordStep *ret) {
        for (uint32_t a = 0; a < task->n_agents; a++) {
                int r;

                ret[a] = (ActordStep){};
                r = p->active[a] ? read_step(task, result, a, there[a], &ret[a]) : 0;
                if (r < 0)
                        return r;
        }
        return 0;
}

/* The end of an episode is the same for all agents. It is a truncation if all agents that acted in the last
 * step were truncated and none terminated. */
static bool end_is_truncation(const Parallel *p, const ParallelTask *task, const ActordStep *steps) {
        for (uint32_t a = 0; a < task->n_agents; a++)
                if (p->active[a] && (!steps[a].truncated || steps[a].terminated))
                        return false;
        return true;
}

static int check_result(PyObject *result) {
        bool fits = PyTuple_Check(result) && PyTuple_GET_SIZE(result) == 5;

        for (Py_ssize_t k = 0; fits && k < 4; k++)
                fits = PyDict_Check(PyTuple_GET_ITEM(result, k));
        if (fits)
                return 0;
        PyErr_SetString(PyExc_TypeError,
                        "step() did not return (observations, rewards, terminations, truncations, infos), "
                        "each a dictionary by agent");
        return python_tell();
}

int parallel_read(Parallel *p, const ParallelTask *task, const ParallelSpaces *spaces, PyObject *result,
                void *ret_observations, ActordStep *ret) {
        uint8_t there[ACTORD_AGENTS_MAX] = {};
        bool truncated;
        int n, r;

        r = check_result(result);
        if (r < 0)
                return r;
        n = present(p, task, there);
        if (n < 0)
                return n;
        r = read_steps(p, task, result, there, ret);
        if (r < 0)
                return r;

        truncated = n == 0 && end_is_truncation(p, task, ret);
        for (uint32_t a = 0; a < task->n_agents; a++) {
                ret[a].terminated = n == 0 && !truncated;
                ret[a].truncated = truncated;
        }
        /* Each agent that is present must have an observation. If no agent is left, only agents that were
         * truncated must have their last one. */
        if (n > 0)
                memcpy(p->active, there, task->n_agents);
        return observe(task, spaces, PyTuple_GET_ITEM(result, 0), truncated ? p->active : there,
                        ret_observations);
}

int parallel_shared(const Parallel *p, const ParallelTask *task, float *ret) {
        _cleanup_(python_unrefp) PyObject *state = PyObject_CallNoArgs(p->state);

        return state ? space_store(&task->shared, task->convert_shared, state, ret) : python_tell();
}
