/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The two words between the invoker and a worker: the only file with atomics on a worker's page. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "include/turn.h"

/* For the invoker */
void turn_order(Turn *turn, const Order *order,
                /* writes the order, sets go + 1, and wakes the worker; the last order must have been
                 * answered */
                bool expect_sleeper);
bool turn_answered(const Turn *turn);
int turn_answer(const Turn *turn,
                Answer *ret); /* copies the answer once; 0 or -EAGAIN. The worker may have written anything:
                               * check each field */
void turn_asleep(Turn *turn,
                /* asks for the bell: set it, then look at turn_answered() once more before sleeping */
                bool asleep);
void turn_reset(Turn *turn); /* before a new worker takes over the page; the old one must have been reaped */

/* For the worker: waits for the next order, spinning at most spin_nsec before it sleeps. */
void turn_wait(Turn *turn, uint64_t spin_nsec, Order *ret);
void turn_reply(Turn *turn, const Answer *answer, int bell_fd);
