/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Actors ask the learner for actions (lib/exchange.h). Sleeping and waking follow the protocol of lib/turn.c
 * in both directions. Before a side sleeps, it writes that it sleeps, and reads the other side's word once
 * more. After a side has written its word, it checks whether the other side sleeps. Both pairs of accesses
 * are sequentially consistent, so no wake-up is lost.
 *
 * Requests are numbered. An actor adds 1 to the number in shared memory. So an answer to an attempt that
 * died cannot be mistaken for an answer to the next attempt. The learner keeps the number of its last answer
 * in its own memory. A hostile actor can change the number in shared memory, but only its own requests
 * suffer. */
#include "lib/exchange.h"

#include <assert.h>

#include "lib/futex.h"

static bool answered(const Exchange *exchange, uint32_t number) {
        /* seq_cst: pairs with the learner's store; and acquires the actions. */
        return atomic_load_explicit(&exchange->answered, memory_order_seq_cst) == number;
}

static bool answered_soon(const Exchange *exchange, uint32_t number, uint64_t spin_nsec) {
        uint64_t end_nsec;

        if (answered(exchange, number))
                return true;
        if (spin_nsec == 0)
                return false;

        end_nsec = now_nsec() + spin_nsec;
        do
                for (unsigned i = 0; i < SPINS_PER_LOOK; i++) {
                        if (answered(exchange, number))
                                return true;
                        spin_pause();
                }
        while (now_nsec() < end_nsec);
        return false;
}

void exchange_ask(Exchange *exchange, uint64_t ordinal, uint32_t step, uint64_t spin_nsec, int bell_fd) {
        static const uint64_t one = 1;
        uint32_t number, last;

        assert(exchange);

        number = atomic_load_explicit(&exchange->asked, memory_order_relaxed) + 1;
        atomic_store_explicit(&exchange->ordinal, ordinal, memory_order_relaxed);
        atomic_store_explicit(&exchange->step, step, memory_order_relaxed);
        /* seq_cst: publishes observations and request, and comes before the read of `asleep`. */
        atomic_store_explicit(&exchange->asked, number, memory_order_seq_cst);
        if (atomic_load_explicit(&exchange->asleep, memory_order_seq_cst))
                (void) !write(bell_fd, &one, sizeof(one));

        if (answered_soon(exchange, number, spin_nsec))
                return;
        atomic_store_explicit(&exchange->parked, 1, memory_order_seq_cst);
        /* The answer to an earlier request, of a process that has died, may arrive first. */
        while ((last = atomic_load_explicit(&exchange->answered, memory_order_seq_cst)) != number)
                futex_wait(&exchange->answered, last);
        atomic_store_explicit(&exchange->parked, 0, memory_order_relaxed);
}

bool exchange_asked(const Exchange *exchange, uint32_t answered_last, Ask *ret) {
        Ask ask;

        assert(exchange);
        assert(ret);

        ask.number = atomic_load_explicit(&exchange->asked, memory_order_seq_cst);
        if (ask.number == answered_last)
                return false;
        ask.ordinal = atomic_load_explicit(&exchange->ordinal, memory_order_relaxed);
        ask.step = atomic_load_explicit(&exchange->step, memory_order_relaxed);
        *ret = ask;
        return true;
}

void exchange_answer(Exchange *exchange, uint32_t number) {
        assert(exchange);

        /* seq_cst: publishes the actions, and comes before the read of `parked`. */
        atomic_store_explicit(&exchange->answered, number, memory_order_seq_cst);
        if (atomic_load_explicit(&exchange->parked, memory_order_seq_cst))
                futex_wake(&exchange->answered);
}

void exchange_asleep(Exchange *exchange, bool asleep) {
        assert(exchange);

        atomic_store_explicit(&exchange->asleep, asleep, memory_order_seq_cst);
}
