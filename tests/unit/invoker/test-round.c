/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The rules of a round, without processes: which actor is next, what a failure repeats, when the round is
 * complete, what carries over. */
#include <errno.h>
#include <glib.h>
#include <signal.h>

#include "invoker/progress.h"
#include "invoker/round.h"

static Round *round_new(uint32_t n_seats, uint32_t n_containers) {
        Round *round = g_new(Round, 1);

        round_init(round, n_seats, n_containers);
        return round;
}

static void roll(Round *round, uint32_t actor) {
        round_order(round, actor, false);
        round_answer(round, actor);
}

static void take(Round *round, uint32_t actor) {
        g_assert_cmpuint(round_rolled(round), ==, actor);
        round_take(round, actor);
        round_accept(round, actor);
}

/* Actor a lives in container a modulo the number of containers. A container gets one actor after another. */
static void test_containers(void) {
        g_autofree Round *round = round_new(7, 3);

        round_begin(round, 1, 5, 5);
        g_assert_cmpuint(round_waiting(round, 0), ==, 0);
        g_assert_cmpuint(round_waiting(round, 1), ==, 1);
        g_assert_cmpuint(round_waiting(round, 2), ==, 2);
        round_order(round, 1, true);
        g_assert_true(round->seats[1].cold);
        g_assert_cmpuint(round_waiting(round, 1), ==, 4);
        round_order(round, 4, false);
        g_assert_cmpuint(round_waiting(round, 1), ==, ACTOR_NONE);
        roll(round, 2);
        /* Actor 5 would be next in container 2, but is not in this round. */
        g_assert_cmpuint(round_waiting(round, 2), ==, ACTOR_NONE);
}

static void test_order_of_takes(void) {
        g_autofree Round *round = round_new(4, 4);

        round_begin(round, 1, 4, 4);
        g_assert_cmpuint(round_rolled(round), ==, ACTOR_NONE);
        roll(round, 2);
        roll(round, 0);
        take(round, 2);
        roll(round, 3);
        take(round, 0);
        take(round, 3);
        g_assert_false(round_is_complete(round));
        roll(round, 1);
        take(round, 1);
        g_assert_true(round_is_complete(round));
}

/* A failed attempt is repeated with the same ordinal and bank, until two retries have failed, too. */
static void test_retries(void) {
        g_autofree Round *round = round_new(2, 2);

        round_begin(round, 1, 2, 2);
        round_order(round, 0, true);
        g_assert_true(round_fail(round, 0, 2, FAULT_ENVIRONMENT, EIO));
        g_assert_cmpuint(round_waiting(round, 0), ==, 0);
        g_assert_cmpuint(round->seats[0].attempts.n, ==, 1);
        g_assert_cmpuint(round->seats[0].ordinal, ==, 0);
        g_assert_cmpuint(round->seats[0].bank, ==, 0);

        /* A rollout that the learner refuses is a failed attempt, too. */
        roll(round, 0);
        round_take(round, 0);
        g_assert_true(round_fail(round, 0, 2, FAULT_ENVIRONMENT, EIO));
        g_assert_cmpuint(round_rolled(round), ==, ACTOR_NONE);
        round_order(round, 0, false);
        g_assert_false(round_fail(round, 0, 2, FAULT_ENVIRONMENT, EIO));
        g_assert_cmpuint(round->seats[1].attempts.n, ==, 0);
}

/* Kills from outside do not use up an actor's retries, but have a limit of their own. */
static void test_kills(void) {
        Attempts attempts = {};

        for (unsigned i = 0; i < KILLS_MAX; i++)
                g_assert_true(attempts_fail(&attempts, 1, FAULT_KILLED, SIGKILL));
        g_assert_true(attempts_fail(&attempts, 1, FAULT_KILLED, SIGSEGV));
        g_assert_false(attempts_fail(&attempts, 1, FAULT_MEMORY, 1));

        attempts = (Attempts){};
        for (unsigned i = 0; i < KILLS_MAX; i++)
                g_assert_true(attempts_fail(
                                &attempts, 0, i % 2 ? FAULT_HOST_MEMORY : FAULT_KILLED, SIGKILL));
        g_assert_false(attempts_fail(&attempts, 0, FAULT_HOST_MEMORY, 1));
}

/* When a round has closed, the banks and ordinals of its actors have moved on, but not those of actors that
 * were not in the round. */
static void test_close(void) {
        g_autofree Round *round = round_new(3, 3);

        round_begin(round, 1, 2, 2);
        for (uint32_t a = 0; a < 2; a++) {
                roll(round, a);
                take(round, a);
        }
        round_close(round);
        g_assert_cmpuint(round->seats[0].ordinal, ==, 1);
        g_assert_cmpuint(round->seats[1].bank, ==, 1);
        g_assert_cmpuint(round->seats[2].ordinal, ==, 0);
        g_assert_cmpuint(round->seats[2].bank, ==, 0);

        round_begin(round, 2, 3, 3);
        g_assert_cmpuint(round->seats[0].ordinal, ==, 1);
        for (uint32_t a = 0; a < 3; a++) {
                roll(round, a);
                take(round, a);
        }
        round_close(round);
        g_assert_cmpuint(round->seats[0].bank, ==, 0);
        g_assert_cmpuint(round->seats[2].bank, ==, 1);
}

/* A round learns from one of several actors. The other actors keep their orders and rollouts, even if the
 * next round has fewer actors, and later rounds take their rollouts. */
static void test_overlap(void) {
        g_autofree Round *round = round_new(3, 2);

        round_begin(round, 1, 3, 1);
        roll(round, 0);
        roll(round, 2);
        round_order(round, 1, true);
        /* The learner takes actor 2's rollout, although actor 0's came first. */
        round_take(round, 2);
        round_accept(round, 2);
        g_assert_true(round_is_complete(round));
        g_assert_cmpuint(round_rolled(round), ==, 0);
        round_close(round);
        g_assert_cmpuint(round->seats[2].ordinal, ==, 1);
        g_assert_cmpuint(round->seats[0].ordinal, ==, 0);
        g_assert_cmpuint(round->seats[0].bank, ==, 0);
        g_assert_true(round_needs(round, 0));

        /* Actors 0 and 1 are still in use, actor 2 is not. An actor that fails between rounds waits for an
         * order again. */
        g_assert_true(round_fail(round, 1, 2, FAULT_KILLED, SIGKILL));
        round_begin(round, 2, 1, 1);
        g_assert_cmpuint(round->seats[1].attempts.n, ==, 1);
        g_assert_cmpuint(round_waiting(round, 1), ==, 1);
        g_assert_cmpuint(round_waiting(round, 0), ==, ACTOR_NONE);
        take(round, 0);
        round_close(round);
        g_assert_false(round_needs(round, 0));

        round_begin(round, 3, 1, 1);
        g_assert_cmpuint(round_waiting(round, 0), ==, 0);
        roll(round, 1);
        take(round, 1);
        g_assert_true(round_is_complete(round));
        round_close(round);
        g_assert_cmpuint(round->seats[1].ordinal, ==, 1);
        g_assert_false(round_needs(round, 1));

        round_resume(round, 2);
        g_assert_cmpuint(round_waiting(round, 0), ==, 0);
        round_order(round, 0, false);
        g_assert_cmpuint(round_waiting(round, 0), ==, 2);
}

static void test_abandon(void) {
        g_autofree Round *round = round_new(2, 2);

        round_begin(round, 1, 2, 2);
        roll(round, 0);
        take(round, 0);
        round_order(round, 1, false);
        round_abandon(round);
        g_assert_cmpuint(round->seats[0].ordinal, ==, 0);
        g_assert_cmpuint(round->seats[0].bank, ==, 0);
        round_begin(round, 1, 2, 2);
        g_assert_cmpuint(round_waiting(round, 0), ==, 0);
        g_assert_cmpuint(round_rolled(round), ==, ACTOR_NONE);
}

static void test_slowest(void) {
        g_autofree Round *round = round_new(3, 3);
        uint64_t sum, most;

        round_begin(round, 1, 3, 3);
        round->seats[0].metered.emulated_nsec = 100;
        round->seats[1].metered.emulated_nsec = 70;
        round->seats[1].emulated_nsec = 50; /* a first attempt that failed */
        for (uint32_t a = 0; a < 3; a++) {
                roll(round, a);
                take(round, a);
        }
        g_assert_cmpuint(round_slowest_nsec(round), ==, 120);

        for (uint32_t a = 0; a < 3; a++)
                round->seats[a].metered.cpu_nsec = 10 * (a + 1);
        round->seats[2].state = SEAT_ROLLED; /* it belongs to a later round */
        round_cpu_nsec(round, &sum, &most);
        g_assert_cmpuint(sum, ==, 30);
        g_assert_cmpuint(most, ==, 20);
}

/* A rollout is ready 150 ns after the job's beginning, by the emulated clock, and at 180 ns if it waited for
 * a node. The learner is free at 0, 160 or 200 ns, and takes 10 ns. */
static void test_waited(void) {
        const uint64_t free_nsec[] = { 0, 160, 200 }, waited_nsec[] = { 30, 20, 0 };

        for (int i = 0; i < 3; i++) {
                g_autofree Round *round = round_new(1, 1);
                g_autofree Progress *progress = g_new0(Progress, 1);

                round_begin(round, 1, 1, 1);
                roll(round, 0);
                take(round, 0);
                round->seats[0].metered.emulated_nsec = 100;
                progress->round = round;
                progress->arrival.free_nsec = free_nsec[i];
                progress->arrival.flights[0] = (Flight){ .state = FLIGHT_WARM, .started_nsec = 50 };
                progress->waited_nsec = 30;
                overlap_learned(progress, 10);
                g_assert_cmpuint(progress->waited_nsec, ==, waited_nsec[i]);
                g_assert_cmpuint(progress->emulated_round_nsec, ==,
                                MAX(180, free_nsec[i]) + 10 - free_nsec[i]);
        }
}

/* Any order of events that can happen keeps the count right: a round is complete when each actor was
 * accepted once. */
static void test_any_order(void) {
        for (int i = 0; i < 200; i++) {
                uint32_t n = (uint32_t) g_test_rand_int_range(1, 20),
                         n_containers = (uint32_t) g_test_rand_int_range(1, (int) n + 1);
                g_autofree Round *round = round_new(n, n_containers);
                uint32_t running[20], n_failures = 0;

                for (uint32_t c = 0; c < n_containers; c++)
                        running[c] = ACTOR_NONE;
                round_begin(round, 1, n, n);
                while (!round_is_complete(round)) {
                        uint32_t c = (uint32_t) g_test_rand_int_range(0, (int) n_containers),
                                 rolled = round_rolled(round);

                        if (running[c] == ACTOR_NONE) {
                                running[c] = round_waiting(round, c);
                                if (running[c] != ACTOR_NONE)
                                        round_order(round, running[c], false);
                        } else {
                                if (g_test_rand_int_range(0, 5) == 0) {
                                        g_assert_true(round_fail(round, running[c], UINT32_MAX,
                                                        FAULT_ENVIRONMENT, EIO));
                                        n_failures++;
                                } else
                                        round_answer(round, running[c]);
                                running[c] = ACTOR_NONE;
                        }
                        if (rolled != ACTOR_NONE && g_test_rand_bit()) {
                                round_take(round, rolled);
                                if (g_test_rand_int_range(0, 5) == 0) {
                                        g_assert_true(round_fail(
                                                        round, rolled, UINT32_MAX, FAULT_ENVIRONMENT, EIO));
                                        n_failures++;
                                } else
                                        round_accept(round, rolled);
                        }
                }
                for (uint32_t a = 0; a < n; a++) {
                        g_assert_cmpuint(round->seats[a].state, ==, SEAT_TAKEN);
                        n_failures -= round->seats[a].attempts.n;
                }
                g_assert_cmpuint(n_failures, ==, 0);
        }
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/round/containers", test_containers);
        g_test_add_func("/round/order-of-takes", test_order_of_takes);
        g_test_add_func("/round/retries", test_retries);
        g_test_add_func("/round/kills", test_kills);
        g_test_add_func("/round/close", test_close);
        g_test_add_func("/round/overlap", test_overlap);
        g_test_add_func("/round/abandon", test_abandon);
        g_test_add_func("/round/slowest", test_slowest);
        g_test_add_func("/round/waited", test_waited);
        g_test_add_func("/round/any-order", test_any_order);
        return g_test_run();
}
