/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Observations and actions of an environment in Python. bridge.py describes their spaces, and these
 * functions copy them between Python's arrays and memory. Functions report Python's errors on stderr and
 * return a negative errno. */
#pragma once

#include "actor/envs/gym/python.h"
#include "include/actord/env.h"

typedef struct GymSpace {
        ActordSpace space;
        long start;       /* the first value of a Discrete */
        Py_ssize_t bytes; /* the bytes of an observation that is an array */
        char format;      /* the format of its elements in the buffer protocol */
} GymSpace;

/* The memory for an action that is an array: of all spaces but a Discrete. */
typedef struct GymAction {
        Py_buffer memory;     /* the next action is written into it */
        PyObject *fresh;      /* returns an array with a copy of `memory` */
        PyObject *low, *high; /* the bounds of the action's numbers: bytes objects that hold doubles */
} GymAction;

/* Reads the result of space() in bridge.py. */
int space_read(PyObject *tuple, GymSpace *ret);

/* Writes an observation to `ret`. `convert` makes an array of the space's type from an observation of
 * another type. */
int space_store(const GymSpace *space, PyObject *convert, PyObject *observation, void *ret);

/* Makes the memory for actions of this space. A Discrete needs none. */
int action_bind(GymAction *action, const GymSpace *space, PyObject *env);
void action_release(GymAction *action);

/* Makes a new object for each step, since an environment may keep it. NULL: an exception is set. */
PyObject *action_make(const GymAction *action, const GymSpace *space, const void *numbers);
