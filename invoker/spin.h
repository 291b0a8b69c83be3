/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether the invoker is awake when a process that acts and learns answers. To wake a sleeper takes some
 * 20 us of a round, and 8 us of the process that wakes it. A round may take 100 us. So the invoker foresees
 * when the answer comes, from earlier orders of this kind. A timer wakes it a little before, and it spins
 * for the answer. If a round is longer, it does not spin all the time: on cores with two threads, the other
 * thread would be slower.
 *
 * This pays only if a core is free. If other programs want the cores, one of them takes the core of the
 * invoker while it spins, or that of the process, and the answer comes late. So the invoker keeps a balance,
 * like a learner's threads (learner/threads.c). Each spin with an answer adds what a wake-up costs, and
 * each order for which the invoker spun subtracts the time by which the answer was late. When a small credit
 * is used up, the invoker sleeps until the process wakes it, for many times the loss, and then tries again.
 * Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "include/turn.h"

#define SPIN_NSEC  100000u /* the longest spin */
#define SPIN_NEVER UINT64_MAX

typedef struct Spin {
        /* how long an order of each kind is expected to take; 0: there was none */
        uint64_t expected_nsec[_ORDER_KIND_MAX];
        uint64_t tried_nsec; /* the last order for which it spun, by the time when the order was given */
        bool answered;       /* that spin */
        int64_t balance_nsec;
        uint64_t sleeps_until_nsec;
        unsigned n_losses; /* in sequence */
} Spin;

/* When to begin to spin for the answer to an order of this kind; SPIN_NEVER: sleep. The time may have passed
 * already. */
uint64_t spin_begin_nsec(const Spin *spin, uint32_t kind, uint64_t ordered_nsec, uint64_t now_nsec);
/* A spin for the answer to the order that was given at ordered_nsec has ended. */
void spin_ended(Spin *spin, uint64_t ordered_nsec, bool answered);
/* An order was answered now. */
void spin_learn(Spin *spin, uint32_t kind, uint64_t ordered_nsec, uint64_t now_nsec);
