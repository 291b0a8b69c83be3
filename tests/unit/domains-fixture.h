/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Helpers for the tests of environments from applications (queues, 5G, stormwater): they make an environment
 * with one option, and read its state as numbers. */
#pragma once

#include <errno.h>

#include "tests/unit/env-fixture.h"

enum { SEED = 5, NUMBERS_MAX = 256 };

static inline void assert_near(double x, double expected, double tolerance) {
        if (!(fabs(x - expected) <= tolerance))
                g_error("%.17g is not %.17g", x, expected);
}

static inline Env *env_with(const char *name, const char *key, const char *value) {
        ActordOption option = env_option(key, value);

        return env_new_with(name, &option, 1);
}

static inline void set_state(Env *env, const double *state) {
        g_assert_cmpint(env->abi->set_state(env->instance, state, env->observation), ==, 0);
}

static inline void get_state(const Env *env, double ret[NUMBERS_MAX]) {
        ActordStatePart parts[ACTORD_STATE_PARTS] = {};
        int n_parts = env->abi->state_parts(env->instance, parts);
        uint32_t n = 0;

        for (int i = 0; i < n_parts; i++)
                n += parts[i].n_numbers;
        g_assert_cmpuint(n, <=, NUMBERS_MAX);
        g_assert_cmpint(env->abi->get_state(env->instance, ret), ==, 0);
}

static inline void step_choice(Env *env, int32_t choice) {
        env_step(env, SEED, &choice);
}
