/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A step copies an observation once, from the array's buffer into the slot. */
#include "actor/envs/gym/spaces.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

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

int space_read(PyObject *tuple, GymSpace *ret) {
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

/* Whether an array has the shape of the space. A state that agents share has no shape (parallel.c). */
static bool shape_fits(const GymSpace *space, const Py_buffer *view) {
        if (space->space.n_dims == 0)
                return true;
        if (view->ndim != (int) space->space.n_dims)
                return false;
        for (int k = 0; k < view->ndim; k++)
                if (view->shape[k] != (Py_ssize_t) space->space.shape[k])
                        return false;
        return true;
}

/* 1: stored; 0: it is not an array of the right kind. */
static int store_array(const GymSpace *space, PyObject *observation, void *ret) {
        Py_buffer view;
        bool fits;

        if (PyObject_GetBuffer(observation, &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0) {
                PyErr_Clear();
                return 0;
        }
        fits = view.len == space->bytes && view.format && view.format[0] == space->format &&
               view.format[1] == 0 && shape_fits(space, &view);
        if (fits)
                memcpy(ret, view.buf, (size_t) view.len);
        PyBuffer_Release(&view);
        return fits;
}

static int store_choice(const GymSpace *space, PyObject *observation, void *ret) {
        long number = PyLong_AsLong(observation);
        int32_t choice;

        if (number == -1 && PyErr_Occurred())
                return python_tell();
        if (number < space->start || number - space->start >= (long) space->space.n_choices) {
                (void) PyErr_Format(PyExc_ValueError,
                                "an observation is %ld, but the observation space has whole numbers from "
                                "%ld to %ld",
                                number, space->start, space->start + (long) space->space.n_choices - 1);
                return python_tell();
        }
        choice = (int32_t) (number - space->start);
        memcpy(ret, &choice, sizeof(choice));
        return 0;
}

int space_store(const GymSpace *space, PyObject *convert, PyObject *observation, void *ret) {
        _cleanup_(python_unrefp) PyObject *array = NULL;

        if (space->space.kind == ACTORD_DISCRETE)
                return store_choice(space, observation, ret);
        if (store_array(space, observation, ret))
                return 0;
        array = PyObject_CallOneArg(convert, observation);
        if (!array)
                return python_tell();
        return store_array(space, array, ret) ? 0 : -EPROTO;
}

int action_bind(GymAction *action, const GymSpace *space, PyObject *env) {
        _cleanup_(python_unrefp) PyObject *parts = NULL;
        PyObject *array;

        if (space->space.kind == ACTORD_DISCRETE)
                return 0;
        parts = python_call("action_parts", "(O)", env);
        if (!parts)
                return -EIO;
        if (!PyArg_ParseTuple(parts, "OOSS", &array, &action->fresh, &action->low, &action->high))
                return python_tell();
        Py_INCREF(action->fresh);
        Py_INCREF(action->low);
        Py_INCREF(action->high);
        return PyObject_GetBuffer(array, &action->memory,
                               PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0
                               ? python_tell()
                               : 0;
}

void action_release(GymAction *action) {
        if (action->memory.obj)
                PyBuffer_Release(&action->memory);
        Py_CLEAR(action->fresh);
        Py_CLEAR(action->low);
        Py_CLEAR(action->high);
}

static void choices_write(const GymAction *action, Py_ssize_t n, const double *low, const int32_t *choices) {
        for (Py_ssize_t k = 0; k < n; k++)
                if (action->memory.itemsize == sizeof(int32_t))
                        ((int32_t *) action->memory.buf)[k] = (int32_t) low[k] + choices[k];
                else
                        ((int64_t *) action->memory.buf)[k] = (int64_t) low[k] + choices[k];
}

static void box_write(const GymAction *action, Py_ssize_t n, const double *low, const float *numbers) {
        const double *high = (const double *) (const void *) PyBytes_AS_STRING(action->high);

        for (Py_ssize_t k = 0; k < n; k++) {
                double x = fmin(fmax((double) numbers[k], low[k]), high[k]);

                if (action->memory.itemsize == sizeof(float))
                        ((float *) action->memory.buf)[k] = (float) x;
                else
                        ((double *) action->memory.buf)[k] = x;
        }
}

PyObject *action_make(const GymAction *action, const GymSpace *space, const void *numbers) {
        const double *low;
        Py_ssize_t n;
        int32_t choice;

        if (space->space.kind == ACTORD_DISCRETE) {
                memcpy(&choice, numbers, sizeof(choice));
                return PyLong_FromLong(space->start + choice);
        }
        n = action->memory.len / action->memory.itemsize;
        low = (const double *) (const void *) PyBytes_AS_STRING(action->low);
        if (space->space.kind == ACTORD_MULTI_DISCRETE)
                choices_write(action, n, low, numbers);
        else
                box_write(action, n, low, numbers);
        return PyObject_CallNoArgs(action->fresh);
}
