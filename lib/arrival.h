/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rounds that wait for nobody but whoever is ready (Policy=async), as a discrete-event simulation on the emulated clock: an actor begins
 * when the learner has published what it is to act with, and comes after as long as its invocation takes; the learner takes it then, or as
 * soon as it is free. Pure: no clock, no process. Whoever conducts rounds, the invoker or one process alone, asks who is next and tells
 * what that took, so that under Clock=model both come to the same order, whoever was really the first. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "include/settings.h"
#include "include/turn.h"

static inline bool arrival_acts(const Arrival *arrival, uint32_t actor) {
        return arrival->flights[actor].state >= FLIGHT_COLD;
}

/* At the beginning of a round of so many actors: whoever of them does not act begins, with the newest version; others that act go on until
 * they are taken, and of those that do not those stay warm that lib/warm.h
 * keeps. */
void arrival_begin(
                Arrival *arrival, const JobSettings *settings, uint32_t n_actors, uint64_t policy_version);

/* Who comes first by the model's costs, the lowest at equal times; UINT32_MAX: nobody acts. n_steps: of an invocation. */
uint32_t arrival_next(const Arrival *arrival, const JobSettings *settings, uint64_t n_steps);

/* Its rollout was learned from: what both took. Returns how much later the learner is free than it was, which is the round's duration. */
uint64_t arrival_take(Arrival *arrival, uint32_t actor, uint64_t rollout_nsec, uint64_t update_nsec);

/* Where the next version may be written: a bank that has neither the newest nor one that somebody acts with. n_actors: of the job, at
 * most n_banks - 2. */
uint32_t arrival_bank(const Arrival *arrival, uint32_t n_actors, uint32_t n_banks);

/* Whether what a checkpoint said can have come about. */
bool arrival_possible(const Arrival *arrival, uint32_t n_actors, uint32_t n_banks, uint64_t policy_version);
