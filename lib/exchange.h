/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The words of shared memory by which an actor asks the learner for actions in each step, if the learner
 * acts for it (include/slot.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "include/slot.h"

/* For the learner: an actor's request. Nothing in it is trusted. */
typedef struct Ask {
        uint32_t number; /* the request's number, for exchange_answer() */
        uint32_t step;
        uint64_t ordinal;
} Ask;

/* For the actor: asks for the actions of a step, and sleeps until they are in the segment. The actor must
 * have written the step's observations into the segment before. Spins at most spin_nsec before it sleeps.
 * bell_fd: the learner's eventfd (its bell), which is signalled only while the learner sleeps. */
void exchange_ask(Exchange *exchange, uint64_t ordinal, uint32_t step, uint64_t spin_nsec, int bell_fd);

/* For the learner: whether there is a request other than the one with the number `answered`. */
bool exchange_asked(const Exchange *exchange, uint32_t answered, Ask *ret);
void exchange_answer(Exchange *exchange, uint32_t number);
/* For the learner. asleep: from now on, actors signal its eventfd with each request. A learner sets it, then
 * calls exchange_asked() once more, and only then sleeps. */
void exchange_asleep(Exchange *exchange, bool asleep);
