/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether the invoker spins until the learner answers, instead of sleeping. A wake-up takes some 20 us,
 * which is much for a round of 100 us. So the invoker spins if the last order of this kind was short, and
 * if a core is free: the learner's threads leave one over, and no other program wants it.
 *
 * Whether a program wants the core shows only while the invoker spins, since it then yields the core again
 * and again (lib/turn.h). So the invoker keeps a balance, like the threads of a learner
 * (learner/threads.c). Each answer that comes in time adds half a wake-up. The time in which other
 * programs had the core is subtracted, and so is the time of a spin that ends without an answer. When the
 * balance is below 0, the invoker sleeps for FORBEARANCE times the loss, and then tries again. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "include/turn.h"

#define SPIN_ORDER_NSEC 200000u /* an order that takes longer is not worth a spin */

typedef struct Spin {
        /* how long the last order of each kind took; 0: there was none */
        uint64_t took_nsec[_ORDER_KIND_MAX];
        int64_t balance_nsec;
        uint64_t sleeps_until_nsec;
} Spin;

/* How long to spin for the answer to an order of this kind; 0: sleep. n_threads: those that carry it out. */
uint64_t spin_nsec(const Spin *spin, uint32_t kind, uint32_t n_cpus, uint32_t n_threads, uint64_t now_nsec);
/* An order was answered after this time. */
void spin_learn(Spin *spin, uint32_t kind, uint64_t took_nsec);
/* A spin has ended after spun_nsec. In displaced_nsec of these, other programs had the core. */
void spin_ended(Spin *spin, bool answered, uint64_t spun_nsec, uint64_t displaced_nsec, uint64_t now_nsec);
