/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The words between the invoker and a worker (Turn of include/turn.h). Only lib/turn.c uses atomics on these
 * words. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "include/turn.h"

/* For the invoker: writes the order, raises `go` by one, and wakes the worker. The last order must have been
 * answered. */
void turn_order(Turn *turn, const Order *order, bool expect_sleeper);
bool turn_answered(const Turn *turn);
/* Copies the answer once. 0 or -EAGAIN. The worker may have written anything: check each field. */
int turn_answer(const Turn *turn, Answer *ret);
/* Tells the worker whether the invoker sleeps: if so, the worker signals its eventfd with its answer. Before
 * sleeping, call turn_asleep(turn, true), and then turn_answered() once more. */
void turn_asleep(Turn *turn, bool asleep);
/* Spins until the worker has answered, at most for spin_nsec. Returns whether there is an answer. */
bool turn_await(const Turn *turn, uint64_t spin_nsec);
/* Call this before a new worker takes over the page; the old worker must have been reaped. */
void turn_reset(Turn *turn);

/* For the worker: waits for the next order, spinning at most spin_nsec before it sleeps. */
void turn_wait(Turn *turn, uint64_t spin_nsec, Order *ret);
void turn_reply(Turn *turn, const Answer *answer, int bell_fd);
