/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The instance of an environment on which a trial acts, with the random streams of a job's slot 0. */
#pragma once

#include "actor/trial/trial.h"
#include "lib/rng.h"

/* Memory that detects accesses beyond it. Both sides have inaccessible pages, and the unused parts of its
 * first and last page have a pattern. */
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
        uint64_t n_action, n_observation; /* counts for all agents together */
        uint64_t episode, elapsed_steps, n_steps;
        ActordStep step; /* the first agent's, with the mean reward of all agents */
        ActordStep steps[ACTORD_AGENTS_MAX];
        double metrics[ACTORD_METRICS_MAX]; /* of the newest episode that has ended */
        uint8_t active[ACTORD_AGENTS_MAX];  /* which agents are present; rewards of others count as 0 */
        /* the environment reported that no agent is present, or a flag other than 0 and 1 */
        bool active_wrong;
        bool initialised;
} Stage;

/* 0, -ENOMEM, or the error of init(). spec belongs to the caller. */
int stage_init(Stage *stage, const Trial *trial, const ActordEnv *env, const ActordEnvSpec *spec);
void stage_done(Stage *stage);
/* Asks the environment for its spec and makes an instance for it. False: there is no instance, and the
 * trial's page says why. */
bool stage_make(Stage *stage, const Trial *trial, const ActordEnv *env, TrialSpec *ret_said);

/* The first function begins the next episode. The second makes one step with stage->action. Both return 0,
 * or the environment's error. The third says whether the episode ended with that step. */
int stage_reset(Stage *stage);
int stage_step(Stage *stage);
bool stage_ended(const Stage *stage);

/* The first sets a random action from the stream of step t. The second sets the possible action that is
 * nearest to zero. */
void stage_act_random(Stage *stage, uint64_t t);
void stage_act_zero(Stage *stage);
/* -EINVAL: these numbers are not an action of this environment. */
int stage_act(Stage *stage, const double *numbers);

/* Learns the parts of the physical state that an instance shows. Returns the count of their numbers; 0: it
 * shows none, or the parts are impossible. */
uint32_t state_learn_parts(const ActordEnv *env, const void *instance, TrialSpec *said);

/* Converts n numbers to doubles. values: the numbers in the element type of the space. */
void space_to_doubles(const ActordSpace *space, const void *values, uint64_t n, double *ret);

/* The first says whether the pattern around the memory is intact. The second says whether an address is in
 * the memory or in the pages around it. */
bool guarded_is_whole(const Guarded *g);
bool guarded_guards(const Guarded *g, const void *address);
