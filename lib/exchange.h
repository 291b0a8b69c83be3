/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Asking for actions, step by step: the words between an actor and the learner that acts for it
 * (include/slot.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "include/slot.h"

/* For the learner: an actor's request. Its words are claims. */
typedef struct Ask {
        uint32_t number; /* of the request, as exchange_answer() wants it */
        uint32_t step;
        uint64_t ordinal;
} Ask;

/* Actor: asks for the actions of a step, whose observations lie in the segment, and sleeps until the
 * actions lie there, too. Spins at most spin_nsec before it sleeps; bell_fd: the learner's, rung only
 * while the learner sleeps. */
void exchange_ask(Exchange *exchange, uint64_t ordinal, uint32_t step, uint64_t spin_nsec, int bell_fd);

/* Learner: whether there is a request other than the one with the number `answered`. */
bool exchange_asked(const Exchange *exchange, uint32_t answered, Ask *ret);
void exchange_answer(Exchange *exchange, uint32_t number);
/* Learner: asks for the bell. Set it, then look at exchange_asked() once more before sleeping. */
void exchange_asleep(Exchange *exchange, bool asleep);
