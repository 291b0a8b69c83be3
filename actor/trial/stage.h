/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The instance of an environment on which a trial acts, with the random streams of a job's slot 0. */
#pragma once

#include "actor/trial/trial.h"
#include "lib/rng.h"

/* Memory that detects accesses beyond it: inaccessible pages on both sides, and a pattern in those parts of
 * the first and last page that alignment leaves over. */
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
        uint64_t n_action, n_observation; /* of all agents */
        uint64_t episode, elapsed_steps, n_steps;
        ActordStep step; /* the first agent's; its reward is the mean over all of them */
        ActordStep steps[ACTORD_AGENTS_MAX];
        double metrics[ACTORD_METRICS_MAX]; /* of the newest episode that ended */
        uint8_t active[ACTORD_AGENTS_MAX];  /* which agents are there; others' rewards count as 0 */
        bool active_wrong;                  /* none is there, or it is neither 0 nor 1 of one */
        bool initialised;
} Stage;

/* 0, -ENOMEM, or what init() returned. spec stays the caller's. */
int stage_init(Stage *stage, const Trial *trial, const ActordEnv *env, const ActordEnvSpec *spec);
void stage_done(Stage *stage);
/* Learns the spec and makes an instance by it. false: there is none, and the page says why. */
bool stage_make(Stage *stage, const Trial *trial, const ActordEnv *env, TrialSpec *ret_said);

/* The next episode; one step with stage->action; whether the episode ended with that step. The first two
 * return what the environment returned. */
int stage_reset(Stage *stage);
int stage_step(Stage *stage);
bool stage_ended(const Stage *stage);

/* A random action, from the stream of step t; zero, or the nearest action to it. */
void stage_act_random(Stage *stage, uint64_t t);
void stage_act_zero(Stage *stage);
/* -EINVAL: these numbers are not an action of this environment. */
int stage_act(Stage *stage, const double *numbers);

/* Learns the parts of the physical state that an instance shows. Returns how many numbers they have; 0: it
 * shows none. */
uint32_t state_learn_parts(const ActordEnv *env, const void *instance, TrialSpec *said);

/* Numbers of a space's values as doubles. */
void space_to_doubles(const ActordSpace *space, const void *values, uint64_t n, double *ret);

/* Whether the pattern around it is whole, and whether an address lies in its memory or the pages around
 * it. */
bool guarded_is_whole(const Guarded *g);
bool guarded_guards(const Guarded *g, const void *address);
