/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The words between the invoker and a worker (include/turn.h). Only this file and lib/exchange.c hand data
 * over by atomics on shared memory that a hostile process can write; others read and write single numbers
 * there, such as the progress of a trial.
 *
 * Orders and answers are plain bytes. The writer stores its word after them, and the reader loads this word
 * before it reads them. Each side may sleep, and both follow the same protocol. The sleeper first writes
 * that it sleeps, and then reads the other side's word once more. The other side first writes its word, and
 * then checks whether the first side sleeps. Both pairs of accesses are sequentially consistent. So at least
 * one side sees the other, and no wake-up is lost.
 *
 * The invoker trusts none of these words. If a worker writes nonsense into them, its answer is read too
 * early or too late. The answer and its data are checked in any case, and a late worker is killed at its
 * deadline. So no assertion here looks at shared memory. */
#include "lib/turn.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "lib/futex.h"

void turn_order(Turn *turn, const Order *order, bool expect_sleeper) {
        uint32_t done;

        assert(turn);
        assert(order);

        turn->order = *order;

        /* The order's number follows from `done`, which the invoker only reads. So a worker that changes
         * `go` cannot make the order look answered. seq_cst: publishes the order, and comes before the read
         * of `parked`. */
        done = atomic_load_explicit(&turn->done, memory_order_relaxed);
        atomic_store_explicit(&turn->go, done + 1, memory_order_seq_cst);

        if (expect_sleeper || atomic_load_explicit(&turn->parked, memory_order_seq_cst))
                futex_wake(&turn->go);
}

bool turn_answered(const Turn *turn) {
        assert(turn);

        /* seq_cst on `done`: pairs with the worker's store before the worker looks at `asleep`, and acquires
         * the answer. */
        return atomic_load_explicit(&turn->done, memory_order_seq_cst) ==
               atomic_load_explicit(&turn->go, memory_order_relaxed);
}

int turn_answer(const Turn *turn, Answer *ret) {
        assert(turn);
        assert(ret);

        if (!turn_answered(turn))
                return -EAGAIN;

        *ret = turn->answer;
        return 0;
}

void turn_asleep(Turn *turn, bool asleep) {
        assert(turn);

        atomic_store_explicit(&turn->asleep, asleep, memory_order_seq_cst);
}

void turn_reset(Turn *turn) {
        uint32_t go;

        assert(turn);

        memset(&turn->order, 0, sizeof(turn->order));
        memset(&turn->answer, 0, sizeof(turn->answer));
        atomic_store_explicit(&turn->parked, 0, memory_order_relaxed);
        atomic_store_explicit(&turn->asleep, 0, memory_order_relaxed);

        /* No other process maps the page now. release: another process may make the next worker. */
        go = atomic_load_explicit(&turn->go, memory_order_relaxed);
        atomic_store_explicit(&turn->done, go, memory_order_release);
}

static bool turn_ordered(const Turn *turn) {
        /* acquire: the order is read after this. Only the worker, which calls this, writes `done`. */
        return atomic_load_explicit(&turn->go, memory_order_acquire) !=
               atomic_load_explicit(&turn->done, memory_order_relaxed);
}

/* Spins until the other side's word comes, at most for spin_nsec. */
static bool turn_spin(const Turn *turn, bool (*comes)(const Turn *turn), uint64_t spin_nsec) {
        uint64_t begun_nsec;

        if (comes(turn))
                return true;
        if (spin_nsec == 0)
                return false;

        begun_nsec = now_nsec();
        do
                for (unsigned i = 0; i < SPINS_PER_LOOK; i++) {
                        if (comes(turn))
                                return true;
                        spin_pause();
                }
        while (now_nsec() - begun_nsec < spin_nsec);

        return false;
}

bool turn_await(const Turn *turn, uint64_t spin_nsec) {
        assert(turn);

        return turn_spin(turn, turn_answered, spin_nsec);
}

void turn_wait(Turn *turn, uint64_t spin_nsec, Order *ret) {
        uint32_t done;

        assert(turn);
        assert(ret);

        done = atomic_load_explicit(&turn->done, memory_order_relaxed);

        if (!turn_spin(turn, turn_ordered, spin_nsec)) {
                /* seq_cst: `parked` is set before the last read of `go`, so turn_order() sees `parked`, or
                 * this read sees the new `go`. The kernel reads `go` once more under its lock. */
                atomic_store_explicit(&turn->parked, 1, memory_order_seq_cst);
                while (atomic_load_explicit(&turn->go, memory_order_seq_cst) == done)
                        futex_wait(&turn->go, done);
                atomic_store_explicit(&turn->parked, 0, memory_order_relaxed);
        }

        *ret = turn->order;
}

void turn_reply(Turn *turn, const Answer *answer, int bell_fd) {
        static const uint64_t one = 1;
        uint32_t go;

        assert(turn);
        assert(answer);

        turn->answer = *answer;

        /* seq_cst: publishes the answer, and comes before the read of `asleep`. */
        go = atomic_load_explicit(&turn->go, memory_order_relaxed);
        atomic_store_explicit(&turn->done, go, memory_order_seq_cst);

        /* If the eventfd is full (EAGAIN), the reader has been woken already. */
        if (atomic_load_explicit(&turn->asleep, memory_order_seq_cst) && bell_fd >= 0)
                (void) !write(bell_fd, &one, sizeof(one));
}
