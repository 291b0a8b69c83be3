/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* When the invoker is awake for an answer: shortly before the answer of a short order, unless answers come
 * late. */
#include <glib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "invoker/loop.h"
#include "invoker/spin.h"
#include "lib/boottime.h"

enum { USEC = 1000, MSEC = 1000000, KIND = ORDER_ROLLOUT };

/* Gives an order at `at`, for which the invoker spins if it may. The answer comes after took_nsec. Returns
 * whether it could spin. */
static bool order(Spin *spin, uint64_t at, uint64_t took_nsec) {
        uint64_t begin_nsec = spin_begin_nsec(spin, KIND, at, at);
        bool spins = begin_nsec <= at + took_nsec;

        if (spins)
                spin_ended(spin, at, at + took_nsec <= begin_nsec + SPIN_NSEC);
        spin_learn(spin, KIND, at, at + took_nsec);
        return spins;
}

static void test_begin(void) {
        Spin spin = {};
        uint64_t begin_nsec;

        /* Nothing is known of the first order. */
        g_assert_false(order(&spin, MSEC, 80 * USEC));
        begin_nsec = spin_begin_nsec(&spin, KIND, 2 * MSEC, 2 * MSEC);
        g_assert_cmpuint(begin_nsec, >, 2 * MSEC);
        g_assert_cmpuint(begin_nsec, <, 2 * MSEC + 80 * USEC);
        g_assert_cmpuint(begin_nsec + SPIN_NSEC, >, 2 * MSEC + 80 * USEC);
        g_assert_true(spin_begin_nsec(&spin, ORDER_LEARN, 2 * MSEC, 2 * MSEC) == SPIN_NEVER);

        /* It spins once for an order. */
        spin_ended(&spin, 2 * MSEC, false);
        g_assert_true(spin_begin_nsec(&spin, KIND, 2 * MSEC, 2 * MSEC + 200 * USEC) == SPIN_NEVER);
        spin_learn(&spin, KIND, 2 * MSEC, 2 * MSEC + 80 * USEC);
        g_assert_true(spin_begin_nsec(&spin, KIND, 3 * MSEC, 3 * MSEC) != SPIN_NEVER);
}

/* A short order counts at once. Long ones count if there are several. */
static void test_expectation(void) {
        Spin spin = {};
        uint64_t at = MSEC;

        g_assert_false(order(&spin, at, 30 * MSEC));
        at += 100 * MSEC;
        g_assert_false(order(&spin, at, 3 * MSEC));
        at += 100 * MSEC;
        g_assert_false(order(&spin, at, 90 * USEC));
        at += 100 * MSEC;
        g_assert_true(order(&spin, at, 120 * USEC));
        for (unsigned i = 0; i < 40; i++)
                (void) order(&spin, at += 1000 * MSEC, 3 * MSEC);
        g_assert_false(order(&spin, at + 10000ull * MSEC, 3 * MSEC));
}

/* An answer that is late by this much, after many in time. Returns how long the invoker then sleeps. */
static uint64_t lose(Spin *spin, uint64_t *at, uint64_t late_nsec) {
        for (unsigned i = 0; i < 1000; i++)
                g_assert_true(order(spin, *at += MSEC, 80 * USEC));
        g_assert_true(order(spin, *at += MSEC, 80 * USEC + late_nsec));
        return spin->sleeps_until_nsec > *at + late_nsec ? spin->sleeps_until_nsec - *at - late_nsec : 0;
}

/* Over a long time, spins cost at most a small share. */
static void test_balance(void) {
        Spin spin = {};
        uint64_t at = MSEC, first, asleep;

        g_assert_false(order(&spin, at, 80 * USEC));
        /* What spins have won before covers a small loss. */
        g_assert_cmpuint(lose(&spin, &at, 500 * USEC), ==, 0);
        first = lose(&spin, &at, 4 * MSEC);
        g_assert_cmpuint(first, >=, 100 * MSEC);
        g_assert_true(spin_begin_nsec(&spin, KIND, at, spin.sleeps_until_nsec - 1) == SPIN_NEVER);

        /* If the next try loses at once, it sleeps longer, but not for ever. */
        asleep = first;
        for (unsigned i = 0; i < 20; i++) {
                at = spin.sleeps_until_nsec;
                g_assert_true(order(&spin, at, 80 * USEC));
                g_assert_true(order(&spin, at += MSEC, 4 * MSEC));
                g_assert_cmpuint(spin.sleeps_until_nsec - at, >=, asleep);
                asleep = spin.sleeps_until_nsec - at;
        }
        g_assert_cmpuint(asleep, >=, 10 * first);
        g_assert_cmpuint(asleep, <=, 60000ull * MSEC);

        /* A program that was stopped for an hour tries again after seconds. */
        at = spin.sleeps_until_nsec;
        g_assert_cmpuint(lose(&spin, &at, 3600ull * 1000 * MSEC), <=, 2000ull * MSEC);
}

/* The alarm wakes the loop. A ring is the next event, and those that have come already follow it. */
static void test_loop(void) {
        Worker worker = WORKER_EMPTY;
        Loop loop = LOOP_EMPTY;
        uint64_t one = 1;
        Event event;

        g_assert_cmpint(loop_init(&loop), ==, 0);
        loop_alarm(&loop, clock_boottime() + MSEC);
        g_assert_cmpint(loop_wait(&loop), ==, 0);
        g_assert_true(loop_next(&loop, &event));
        g_assert_cmpuint(event.kind, ==, EVENT_ALARM);
        g_assert_false(loop_next(&loop, &event));

        /* It need not be read: the next one wakes again. */
        loop_alarm(&loop, clock_boottime() + MSEC);
        g_assert_cmpint(loop_wait(&loop), ==, 0);
        g_assert_true(loop_next(&loop, &event));
        g_assert_cmpuint(event.kind, ==, EVENT_ALARM);

        worker.bell_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        g_assert_cmpint(worker.bell_fd, >=, 0);
        g_assert_cmpint(loop_watch_bell(&loop, &worker, 3), ==, 0);
        g_assert_cmpint(write(worker.bell_fd, &one, sizeof(one)), ==, sizeof(one));
        g_assert_cmpint(loop_ring(&loop, 7), ==, 0);
        for (uint32_t index = 7;; index = 3) {
                g_assert_true(loop_next(&loop, &event));
                g_assert_cmpuint(event.kind, ==, EVENT_BELL);
                g_assert_cmpuint(event.index, ==, index);
                if (index == 3)
                        break;
        }
        g_assert_false(loop_next(&loop, &event));

        (void) close(worker.bell_fd);
        loop_done(&loop);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);

        g_test_add_func("/spin/begin", test_begin);
        g_test_add_func("/spin/expectation", test_expectation);
        g_test_add_func("/spin/balance", test_balance);
        g_test_add_func("/spin/loop", test_loop);
        return g_test_run();
}
