/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The engine of all tasks on Box2D. A task is one row: how its episodes are kept, which numbers its resets
 * draw, and how an action becomes a step. The engine implements the environment ABI for it, except for
 * spec(), init() and draw(). */
#pragma once

#include "actor/envs/box2d/episode.h"
#include "actor/envs/box2d/world.h"
#include "include/actord/env.h"

enum { BOX2D_OBSERVATION_MAX = 24 };

typedef struct Box2dTask {
        EpisodeKind kind;
        size_t episode_at; /* the offset of the episode in an instance */
        uint32_t n_observation;
        const ActordStatePart *parts; /* the numbers that a reset draws are the state */
        int n_parts;

        /* Draws the numbers of a new episode. They are all zero before. */
        void (*begin)(void *instance, ActordRandom *random);

        /* Turns an action into a step, with the numbers that are drawn for it. -EINVAL: it is not an
         * action. */
        int (*take)(const void *instance, const void *action, ActordRandom *random, void *ret_step);
} Box2dTask;

typedef struct Box2dInstance { /* the first member of a task's own instance */
        const Box2dTask *task; /* init() sets it */
        World *world;          /* NULL: no episode was begun, or after close() */
        double observation[BOX2D_OBSERVATION_MAX];
} Box2dInstance;

int box2d_reset(void *instance, ActordRandom *random, void *ret_observation);
int box2d_step(void *instance, const void *action, ActordRandom *random, void *ret_observation,
                ActordStep *ret);
int box2d_snapshot(const void *instance, void *ret_snapshot);
int box2d_restore(void *instance, const void *snapshot);
void box2d_close(void *instance);
int box2d_state_parts(const void *instance, ActordStatePart *ret);
int box2d_get_state(const void *instance, double *ret);
int box2d_set_state(void *instance, const double *state, void *ret_observation);

#define BOX2D_ENV(spec_function, init_function, draw_function)                                   \
        {                                                                                        \
                .abi = ACTORD_ENV_ABI, .struct_bytes = sizeof(ActordEnv), .spec = spec_function, \
                .init = init_function, .reset = box2d_reset, .step = box2d_step,                 \
                .snapshot = box2d_snapshot, .restore = box2d_restore, .close = box2d_close,      \
                .state_parts = box2d_state_parts, .get_state = box2d_get_state,                  \
                .set_state = box2d_set_state, .draw = draw_function,                             \
        }
