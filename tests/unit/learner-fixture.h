/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A learner in the test's own process. Segments and policy, which the invoker would map, are in plain
 * memory. The spec comes from the test, or from a built-in environment. */
#pragma once

#include <fcntl.h>
#include <glib.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "learner/learner.h"
#include "lib/settings/settings.h"
#include "lib/slot.h"

typedef struct Bed {
        JobSettings settings;
        JobPage page;
        WorkerPage worker;
        void *policy, **segments;
        LearnerContext context;
        Learner *learner;
} Bed;

/* sections: the text of a job file after [Job] Environment=; if a key has two values, the last one
 * counts. */
void bed_settings(const char *environment, const char *sections, JobSettings *ret);
/* n_choices 0: actions are n_action numbers; BED_SEVERAL: choices of 2, of 3 and of 4 at once. */
#define BED_SEVERAL UINT32_MAX
ActordEnvSpec bed_spec_box(uint32_t n_observation, uint32_t n_action, uint32_t n_choices);
void bed_open(Bed *bed, const ActordEnvSpec *spec, int state_fd, int checkpoint_fd);
void bed_close(Bed *bed);

/* Starts a learner without files and restores nothing, so that it can learn at once. */
void bed_start(Bed *bed, const char *sections, const ActordEnvSpec *spec);
Answer bed_order(Bed *bed, Order order);

/* Each of these gives the learner an order that must succeed. */
Answer bed_restore(Bed *bed);
void bed_take(Bed *bed, uint32_t actor, uint32_t bank);
Answer bed_learn(Bed *bed, uint64_t update, uint32_t n_actors);

/* Sends stderr to /dev/null, as a learner's refusals would fill it. Returns the descriptor to restore. */
int silence(void);
void unsilence(int kept);

/* Fills a segment with a valid rollout: pseudo-random numbers, and an episode that ends now and then. */
void bed_fill(Bed *bed, uint32_t actor, uint32_t bank, uint32_t seed);

/* Fills and takes the rollouts of actors 0 .. n_actors - 1. */
void bed_take_all(Bed *bed, uint32_t n_actors, uint32_t bank, uint32_t seed);

/* The advantages of the rows that the learner has learned from, normalised in double precision if the job
 * says so. */
AdvantageScale bed_advantages(const Bed *bed, double *ret);
