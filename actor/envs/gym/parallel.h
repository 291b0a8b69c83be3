/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Several agents in Python: an environment of PettingZoo's parallel kind, whose dictionaries have an entry
 * for each agent by its name. Agents are numbered in the order of possible_agents. Functions report on
 * stderr and return an errno. */
#pragma once

#include "actor/envs/gym/spaces.h"

/* What all instances of a job share. */
typedef struct ParallelTask {
        PyObject *agents, *numbers; /* names, as a tuple; their numbers, by name */
        PyObject *absent;           /* bytes of the observation of an agent that is not there */
        PyObject *convert_shared;   /* makes an array of `shared` of any state */
        PyObject *word_agents;
        GymSpace shared; /* what state() gives; bytes 0: it gives nothing */
        uint32_t n_agents;
} ParallelTask;

typedef struct Parallel {
        PyObject *world, *state; /* the environment and its method, bound once */
        uint8_t active[ACTORD_AGENTS_MAX];
} Parallel;

/* What a step reads and writes beside the agents themselves. */
typedef struct ParallelSpaces {
        const GymSpace *observation, *action;
        const GymAction *memory;
        PyObject *convert;
} ParallelSpaces;

int parallel_learn(ParallelTask *task, PyObject *env, GymSpace *observation);

/* `env` is the Parallel of parallel.py. */
int parallel_bind(Parallel *p, const ParallelTask *task, PyObject *env);
void parallel_release(Parallel *p);

/* Who is there in a state that was restored. */
int parallel_look(Parallel *p, const ParallelTask *task);

/* The first observations of an episode. */
int parallel_begin(Parallel *p, const ParallelTask *task, const ParallelSpaces *spaces,
                PyObject *observations, void *ret);

/* The argument of step(). NULL: an exception is set. */
PyObject *parallel_actions(const Parallel *p, const ParallelTask *task, const ParallelSpaces *spaces,
                const void *actions);

/* What step() returned. */
int parallel_read(Parallel *p, const ParallelTask *task, const ParallelSpaces *spaces, PyObject *result,
                void *ret_observations, ActordStep *ret);

int parallel_shared(const Parallel *p, const ParallelTask *task, float *ret);
