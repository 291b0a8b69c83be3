/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Functions for tests of environments. They find an environment, built in or in a module, by its name, and
 * run it with the random streams that an actor would use. Bytes that must not change surround its memory. */
#pragma once

#include <dlfcn.h>
#include <glib.h>
#include <math.h>
#include <string.h>

#include "include/actord/env.h"
#include "lib/environments.h"
#include "lib/rng.h"
#include "lib/slot.h"

typedef struct Env {
        const ActordEnv *abi;
        ActordEnvSpec spec;
        /* after each of these buffers are bytes that must not be written */
        uint8_t *instance, *observation, *snapshot;
        size_t observation_bytes;
        ActordStep step;
        uint64_t episode;
        uint32_t n_steps; /* of this episode */
} Env;

/* The build folder: ACTORD_BUILD, or the one that this test lies in. */
char *build_path(const char *file);

/* Opens a module, once. NULL: it is not built here. */
void *env_module(const char *name);

/* An environment of a module. NULL: the module is not built here, or has no such environment. */
const ActordEnv *env_find_in(const char *module, const char *name);
const ActordEnv *env_find(const char *name);

/* The descriptor of the folder of Python packages that another test has left in the build folder; -1: there
 * is none. */
int packages_open(void);

/* Why an environment cannot play here: its engine is in a package that is missing. NULL: it can. */
const char *env_refuses(const char *name);

ActordOption env_option(const char *key, const char *value);
Env *env_new_of(const ActordEnv *abi, const ActordOption *options, uint32_t n_options);
Env *env_new_with(const char *name, const ActordOption *options, uint32_t n_options);
Env *env_new(const char *name);

/* Also checks that nothing was written beyond the memory that the environment was given. */
void env_free(Env *env);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Env, env_free)

/* Whether `option` sets its key to the default value. Then an instance made with `others` equals one made
 * with `others` and `option`, except for pointers, which differ between any two live instances. */
bool env_is_default(const ActordEnv *abi, const ActordOption *option, const ActordOption *others,
                uint32_t n_others);

const float *env_observation(const Env *env);
void env_reset(Env *env, uint64_t seed);
int env_try_step(Env *env, uint64_t seed, const void *action);
void env_step(Env *env, uint64_t seed, const void *action);

/* Makes a step. number: the action, which is a choice or the first of several continuous numbers (the others
 * are 0). */
void env_step_number(Env *env, double number);

/* Draws an allowed action. */
void action_draw(const ActordEnvSpec *spec, ActordRandom *random, uint32_t ret_action[32]);
bool env_ended(const Env *env);
