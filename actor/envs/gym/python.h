/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The interpreter inside an actor. It starts once, inside the finished sandbox, and ends with the process.
 * It reports errors on stderr, and functions return an errno. */
#pragma once

#include <stdbool.h>

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "lib/cleanup.h"

static inline PyObject *python_unref(PyObject *object) {
        Py_XDECREF(object);
        return NULL;
}
DEFINE_CLEANUP(PyObject *, python_unref)

/* Makes the interpreter's symbols global. Packages in C expect this, and symbols of a module's libraries are
 * not global. 0; -ENOEXEC: the dynamic linker does not find the interpreter. */
int python_expose(void);

/* Call this before the fork: it lets ctypes make callbacks inside the sandbox. Does nothing if libffi is
 * missing or older than 3.4. */
void python_prepare_callbacks(void);

/* Starts the interpreter with the packages of a virtual environment. `python` is the virtual environment's
 * name in the job, and `root` its directory here; both empty: the system's packages. `path` and `path_root`
 * are the same for the directory of PythonPath=; both empty: there is none. 0, also if it has started
 * already; -ENOEXEC after a message, again in each call. */
int python_start(const char *python, const char *root, const char *path, const char *path_root);

/* A function of bridge.py or parallel.py, borrowed. NULL: there is none. */
PyObject *python_helper(const char *name);

/* Calls a function with arguments as for Py_BuildValue(); the format is in brackets. NULL: it failed, after
 * a message. */
PyObject *python_call(const char *name, const char *format, ...);

/* Gets the name of a module whose absence made a call fail. Returns whether there is one. */
bool python_missed(char *ret, size_t n);

/* Prints the current exception. Returns -EIO, which an environment's function can return. */
int python_tell(void);
