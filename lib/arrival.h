/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The order of actors under Policy=async, where a round waits only for the first actor that is ready. A
 * discrete-event simulation on the emulated clock finds the order. An actor begins when the learner has
 * published its policy version, and is ready after the duration of its invocation. As soon as the learner is
 * free, it takes the rollout of a ready actor. Pure: it uses no clock and no process. The invoker conducts
 * the rounds (learner/job/loop.c can, too, but an inner job may not have this policy), and reports the times
 * of the actor and the learner. Under Clock=model it asks which actor is next, so the order is always the
 * same, no matter which actor was really the first. Under Clock=metered it takes the actor that is. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "include/settings.h"
#include "include/turn.h"

static inline bool arrival_acts(const Arrival *arrival, uint32_t actor) {
        return arrival->flights[actor].state >= FLIGHT_COLD;
}

/* Copies only the actors that the job has: memory for others may not exist. */
static inline void arrival_copy(Arrival *to, const Arrival *from, uint32_t n_actors) {
        to->free_nsec = from->free_nsec;
        to->policy_bank = from->policy_bank;
        memcpy(to->flights, from->flights, n_actors * sizeof(Flight));
}

/* Begins a round of n actors. Idle actors among them start with the newest version. Busy actors go on until
 * their rollout is taken. lib/warm.h says which idle actors beyond n stay warm. */
void arrival_begin(
                Arrival *arrival, const JobSettings *settings, uint32_t n_actors, uint64_t policy_version);

/* The actor that is ready first, by the model's costs; among several, the one with the lowest number.
 * UINT32_MAX: no actor acts. n_steps: the length of an invocation. */
uint32_t arrival_next(const Arrival *arrival, const JobSettings *settings, uint64_t n_steps);

/* Reports that the learner has learned from an actor's rollout, and how long the rollout and the update
 * took. Returns the round's duration: from the end of the update before to the end of this one. */
uint64_t arrival_take(Arrival *arrival, uint32_t actor, uint64_t rollout_nsec, uint64_t update_nsec);

/* The bank for the next version: one that holds neither the newest version nor a version with which an actor
 * still acts. n_actors: of the job, at most n_banks - 2. */
uint32_t arrival_bank(const Arrival *arrival, uint32_t n_actors, uint32_t n_banks);

/* Checks a state from a checkpoint: whether the functions above can lead to it. */
bool arrival_possible(const Arrival *arrival, uint32_t n_actors, uint32_t n_banks, uint64_t policy_version);
