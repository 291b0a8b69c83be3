/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One instance of an environment on which a trial acts, with the streams that a job's slot 0 would have. */
#pragma once

#include "actor/trial/trial.h"
#include "lib/rng.h"

/* Memory whose surroundings are watched: pages that cannot be touched on both sides, and a pattern in
 * what alignment leaves of the first and the last page. */
typedef struct Guarded {
        uint8_t *memory; /* aligned to 64 */
        uint64_t bytes;
        uint8_t *map;
        uint64_t map_bytes;
} Guarded;

typedef struct Stage {
        const ActordEnv *env;
        const ActordEnvSpec *spec;
        const JobSettings *settings;
        TrialPage *page;
        Guarded instance, observation, snapshot;
        void *action;
        uint64_t n_action, n_observation;
        uint64_t episode, elapsed_steps, n_steps;
        ActordStep step;
        bool initialised;
} Stage;

/* 0, -ENOMEM, or what init() returned. spec stays the caller's. */
int stage_init(Stage *stage, const Trial *trial, const ActordEnv *env, const ActordEnvSpec *spec);
void stage_done(Stage *stage);

/* The next episode; one step with stage->action; whether an episode has ended with it. What the
 * environment returned. */
int stage_reset(Stage *stage);
int stage_step(Stage *stage);
bool stage_ended(const Stage *stage);

/* Any action, of the stream of step t; none at all: zero, or what is nearest to it. */
void stage_act_random(Stage *stage, uint64_t t);
void stage_act_zero(Stage *stage);
/* -EINVAL: no action of this environment. */
int stage_act(Stage *stage, const double *numbers);

/* Numbers of a space's value as doubles. */
void space_to_doubles(const ActordSpace *space, const void *value, double *ret);

/* Whether the pattern around it is whole, and whether an address lies in its untouchable pages. */
bool guarded_is_whole(const Guarded *g);
bool guarded_guards(const Guarded *g, const void *address);
