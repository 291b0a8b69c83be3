/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Several agents in Python: an environment of PettingZoo's parallel kind. Its dictionaries have an entry for
 * each agent, under the agent's name. Agents are numbered in the order of possible_agents. Functions report
 * errors on stderr and return an errno. */
#pragma once

#include "actor/envs/gym/spaces.h"

/* Data that all instances of a job share */
typedef struct ParallelTask {
        PyObject *agents, *numbers; /* a tuple of names; a dictionary from names to numbers */
        PyObject *absent;           /* the bytes of an absent agent's observation */
        /* makes a result of state() an array with the type and shape of `shared` */
        PyObject *convert_shared;
        PyObject *word_agents;
        GymSpace shared; /* the space of state(); bytes 0: there is no state() */
        uint32_t n_agents;
} ParallelTask;

typedef struct Parallel {
        PyObject *world, *state; /* the environment; its method state(), NULL if it has none */
        uint8_t active[ACTORD_AGENTS_MAX];
} Parallel;

/* The data that a step reads and writes, besides the agents themselves. */
typedef struct ParallelSpaces {
        const GymSpace *observation, *action;
        const GymAction *memory;
        PyObject *convert;
} ParallelSpaces;

int parallel_learn(ParallelTask *task, PyObject *env, GymSpace *observation);

/* Looks up the parts of `env`, a Parallel of parallel.py. */
int parallel_bind(Parallel *p, const ParallelTask *task, PyObject *env);
void parallel_release(Parallel *p);

/* Finds out which agents are present in a restored state. */
int parallel_look(Parallel *p, const ParallelTask *task);

/* Writes the first observations of an episode to `ret`. */
int parallel_begin(Parallel *p, const ParallelTask *task, const ParallelSpaces *spaces,
                PyObject *observations, void *ret);

/* Makes the argument of step(). NULL: an exception is set. */
PyObject *parallel_actions(const Parallel *p, const ParallelTask *task, const ParallelSpaces *spaces,
                const void *actions);

/* Reads the result of step(). */
int parallel_read(Parallel *p, const ParallelTask *task, const ParallelSpaces *spaces, PyObject *result,
                void *ret_observations, ActordStep *ret);

int parallel_shared(const Parallel *p, const ParallelTask *task, float *ret);
