/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The common part of test environments that exist for one purpose only: they show one number, take two
 * actions, last fifty steps, and their state is their snapshot. The file that includes this has
 * NAME_init(), NAME_reset() and NAME_step(). */
#pragma once

#include <math.h>
#include <string.h>
#include "actord/env.h"

#define PLAIN_ENV(name_, State)                                                                      \
        static int plain_spec(const ActordOption *options, uint32_t n_options, ActordEnvSpec *ret) { \
                (void) options;                                                                      \
                (void) n_options;                                                                    \
                *ret = (ActordEnvSpec){                                                              \
                        .name = #name_,                                                              \
                        .observation = { ACTORD_BOX, ACTORD_F32, 1, 0, { 1 }, -10, 10 },             \
                        .action = { ACTORD_DISCRETE, ACTORD_I32, 0, 2 },                             \
                        .horizon_steps = 50,                                                         \
                        .n_agents = 1,                                                               \
                        .reward_low = -1,                                                            \
                        .reward_high = 1,                                                            \
                        .solved_return = NAN,                                                        \
                        .instance_bytes = sizeof(State),                                             \
                        .snapshot_bytes = sizeof(State),                                             \
                };                                                                                   \
                return 0;                                                                            \
        }                                                                                            \
                                                                                                     \
        static int plain_snapshot(const void *instance, void *ret_snapshot) {                        \
                memcpy(ret_snapshot, instance, sizeof(State));                                       \
                return 0;                                                                            \
        }                                                                                            \
                                                                                                     \
        static int plain_restore(void *instance, const void *snapshot) {                             \
                memcpy(instance, snapshot, sizeof(State));                                           \
                return 0;                                                                            \
        }                                                                                            \
                                                                                                     \
        static void plain_close(void *instance) {                                                    \
                (void) instance;                                                                     \
        }                                                                                            \
                                                                                                     \
        extern const ActordEnv actord_env;                                                           \
        const ActordEnv actord_env = {                                                               \
                ACTORD_ENV_ABI,                                                                      \
                sizeof(ActordEnv),                                                                   \
                plain_spec,                                                                          \
                name_##_init,                                                                        \
                name_##_reset,                                                                       \
                name_##_step,                                                                        \
                plain_snapshot,                                                                      \
                plain_restore,                                                                       \
                plain_close,                                                                         \
        }
