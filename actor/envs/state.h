/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Functions for environments whose state is an array of doubles. They are inline, so that a module that is
 * linked alone contains them. */
#pragma once

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "include/actord/env.h"

/* A NaN stays a NaN. */
static inline double env_clamp(double x, double low, double high) {
        if (x < low)
                return low;
        return x > high ? high : x;
}

/* A snapshot may be forged, so an impossible state is refused. */
static inline bool env_state_finite(const double *state, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (!isfinite(state[i]))
                        return false;
        return true;
}

/* Defines the ABI's functions that deal with the state, for a task whose snapshot is `double state[]` of its
 * struct and nothing else. The task defines TASK_possible(state) and TASK_observe(instance,
 * ret_observation). */
#define ENV_STATE(task, Task)                                                                     \
        static int task##_snapshot(const void *instance, void *ret_snapshot) {                    \
                const Task *t = instance;                                                         \
                                                                                                  \
                memcpy(ret_snapshot, t->state, sizeof(t->state));                                 \
                return 0;                                                                         \
        }                                                                                         \
        static int task##_restore(void *instance, const void *snapshot) {                         \
                double state[sizeof(((Task *) NULL)->state) / sizeof(double)];                    \
                                                                                                  \
                memcpy(state, snapshot, sizeof(state));                                           \
                if (!task##_possible(state))                                                      \
                        return -EINVAL;                                                           \
                memcpy(((Task *) instance)->state, state, sizeof(state));                         \
                return 0;                                                                         \
        }                                                                                         \
        static void task##_close(void *instance) {                                                \
        }                                                                                         \
        static int task##_state_parts(const void *instance, ActordStatePart *ret) {               \
                const Task *t = instance;                                                         \
                                                                                                  \
                ret[0] = (ActordStatePart){ .name = "state",                                      \
                        .n_numbers = sizeof(t->state) / sizeof(double) };                         \
                return 1;                                                                         \
        }                                                                                         \
        static int task##_get_state(const void *instance, double *ret) {                          \
                return task##_snapshot(instance, ret);                                            \
        }                                                                                         \
        static int task##_set_state(void *instance, const double *state, void *ret_observation) { \
                int r = task##_restore(instance, state);                                          \
                                                                                                  \
                if (r < 0)                                                                        \
                        return r;                                                                 \
                task##_observe(instance, ret_observation);                                        \
                return 0;                                                                         \
        }

/* The members of the task's ActordEnv for the functions that ENV_STATE() defines, and for reset(). */
#define ENV_STATE_OF(task)                                                               \
        .abi = ACTORD_ENV_ABI, .struct_bytes = sizeof(ActordEnv), .reset = task##_reset, \
        .snapshot = task##_snapshot, .restore = task##_restore, .close = task##_close,   \
        .state_parts = task##_state_parts, .get_state = task##_get_state, .set_state = task##_set_state
