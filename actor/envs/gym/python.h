/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The interpreter inside an actor: started once, after the sandbox has closed, and never ended but by the
 * process. What goes wrong in it is told on stderr, and what comes back is an errno. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "lib/cleanup.h"

static inline PyObject *python_unref(PyObject *object) {
        Py_XDECREF(object);
        return NULL;
}
DEFINE_CLEANUP(PyObject *, python_unref)

/* Packages in C look for the interpreter's symbols among those of the whole process, where a module's
 * libraries are not. 0, -ENOEXEC. */
int python_expose(void);

/* Before the fork: lets ctypes make callbacks inside the sandbox. Does nothing where libffi is missing or
 * older than 3.4. */
void python_prepare_callbacks(void);

/* Starts it with the packages of a virtual environment: `python` as the job names it, `root` where it
 * lies here; both empty: with the system's. 0 also when it runs already; -ENOEXEC after having told why
 * not. */
int python_start(const char *python, const char *root);

/* A function of bridge.py. NULL: there is none. Borrowed. */
PyObject *python_helper(const char *name);

/* Calls one with arguments made as by Py_BuildValue(); the format is in brackets. NULL after having told
 * what went wrong. */
PyObject *python_call(const char *name, const char *format, ...);

/* Tells the exception that was raised. -EIO: what an environment's functions return then. */
int python_tell(void);
