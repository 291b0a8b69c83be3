/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The vocabulary of the actor's tests: a job in plain memory with its segments, policy and containers;
 * and a toy environment in which ends happen at known steps, rewards tell where an episode stands, and
 * steps fail on demand. */
#pragma once

#include <errno.h>
#include <glib.h>
#include <math.h>
#include <string.h>

#include "actor/host.h"
#include "lib/rng.h"
#include "lib/slot.h"

/* An environment for tests. A reset draws the episode's length and its mark, a number in [0, 1). A step
 * shows (mark, steps so far) and pays their sum. toy_plan says at which step it fails. */
typedef struct Toy {
        double mark;
        uint32_t steps, length;
        uint32_t dirt; /* not in the snapshot: it differs between instances that step the same slot */
} Toy;

typedef struct ToyPlan {
        uint32_t length_min, length_max;
        bool truncates, step_noise;
        uint32_t ends_one_in; /* each step ends the episode with probability 1 / ends_one_in; 0: none does */
        uint64_t fail_at, n_steps, n_resets, n_restores;
} ToyPlan;

extern ToyPlan toy_plan;

int toy_spec(const ActordOption *options, uint32_t n_options, ActordEnvSpec *ret);

extern const ActordEnv toy_env;

/* A job with its segments, its policy and `n_containers` hosts (actor/host.h). */
enum { ACTORS = 4, CONTAINERS_MAX = 4 };

typedef struct Job {
        JobSettings settings;
        JobPage page;
        const ActordEnv *env;
        WorkerPage *worker;
        void *policy;
        void *segments[ACTORS];
        uint32_t banks[ACTORS];
        uint64_t ordinals[ACTORS];
        uint32_t n_containers;
        ActorContext contexts[CONTAINERS_MAX];
        Host *hosts[CONTAINERS_MAX];
} Job;

void actor_job_start_host(Job *job, uint32_t i);
void *zeroed(size_t bytes);
void actor_job_new(Job *job, const ActordEnv *env, uint32_t envs, uint32_t steps, uint32_t n_containers);
void actor_job_done(Job *job);
uint32_t actor_job_attempt(Job *job, uint32_t actor);

/* Does what happens after the learner has taken a rollout: the bank that was written becomes the one that is
 * read next. */
void actor_job_accept(Job *job, uint32_t actor);
void actor_job_rollout(Job *job, uint32_t actor);

/* All that the learner may read, as bytes: columns, and the bank just written. */
GBytes *actor_job_result(const Job *job, uint32_t actor);
void assert_results_equal(const Job *a, const Job *b, uint32_t actor);

/* Plays the first actor of two equal jobs. In `hurt` it dies once in each round, each time at a later step,
 * and a new process repeats the rollout: the results are the same. */
void assert_interruptions_hidden(Job *job, Job *hurt, uint32_t n_rounds);
