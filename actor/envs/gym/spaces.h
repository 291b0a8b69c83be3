/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Observations and actions of an environment in Python: what bridge.py says of their spaces, and their way
 * from Python's arrays into memory and back. Functions report on stderr and return an errno. */
#pragma once

#include "actor/envs/gym/python.h"
#include "include/actord/env.h"

typedef struct GymSpace {
        ActordSpace space;
        long start;       /* of a Discrete's choices */
        Py_ssize_t bytes; /* of an observation */
        char format;      /* of its elements, as the buffer protocol writes it */
} GymSpace;

/* Where actions are several numbers. */
typedef struct GymAction {
        Py_buffer memory;     /* that the next one is written into */
        PyObject *fresh;      /* returns an array with the content of `memory` */
        PyObject *low, *high; /* their bounds, as bytes of doubles */
} GymAction;

/* Reads what space() of bridge.py returned. */
int space_read(PyObject *tuple, GymSpace *ret);

/* Writes an observation. `convert` makes an array of the space's kind of any other. */
int space_store(const GymSpace *space, PyObject *convert, PyObject *observation, void *ret);

/* 0 also for a Discrete, which needs no memory. */
int action_bind(GymAction *action, const GymSpace *space, PyObject *env);
void action_release(GymAction *action);

/* A new object for each step, since an environment may keep it. NULL: an exception is set. */
PyObject *action_make(const GymAction *action, const GymSpace *space, const void *numbers);
