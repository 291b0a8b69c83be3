/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rounds that overlap, on the emulated clock: which actor is next, with which policy version, and how long a
 * round takes. They are compared with numbers computed by hand, and with a second simulation that keeps a
 * list of events. */
#include <glib.h>
#include <string.h>

#include "lib/arrival.h"
#include "lib/clock.h"

enum {
        STEPS = 1000,
        WARM_NSEC = 1000000 + 5 * STEPS * 1000,
        COLD_NSEC = WARM_NSEC + 9000000,
        UPDATE_NSEC = 2000000
};

/* A time model with 5 microseconds for a step, and 10 ms for a cold or 1 ms for a warm start. */
static JobSettings settings_of(uint32_t n_actors_max) {
        JobSettings s = {
                .clock = CLOCK_MODEL,
                .step_usec = 5,
                .cold_usec = 10000,
                .warm_usec = 1000,
                .memory_max_bytes = 4ull << 30,
                .n_actors = n_actors_max,
        };

        g_assert_cmpuint(clock_invocation_nsec(&s, 0, STEPS, false), ==, WARM_NSEC);
        g_assert_cmpuint(clock_invocation_nsec(&s, 0, STEPS, true), ==, COLD_NSEC);
        return s;
}

/* Plays one round with the durations of the time model. Returns the actor from which the learner took a
 * rollout. */
static uint32_t play(Arrival *arrival, const JobSettings *s, uint32_t n_actors, uint64_t version,
                uint64_t *ret_nsec) {
        uint64_t nsec;
        uint32_t actor;
        bool cold;

        arrival_begin(arrival, s, n_actors, version);
        actor = arrival_next(arrival, s, STEPS);
        g_assert_cmpuint(actor, <, settings_actors_max(s));
        cold = arrival->flights[actor].state == FLIGHT_COLD;
        arrival->policy_bank = arrival_bank(arrival, settings_actors_max(s), settings_actors_max(s) + 2);
        nsec = arrival_take(arrival, actor, cold ? COLD_NSEC : WARM_NSEC, UPDATE_NSEC);
        if (ret_nsec)
                *ret_nsec = nsec;
        return actor;
}

/* Of actors that are ready at the same time, the learner takes the lowest number first. Afterwards the
 * actors come in the order in which they were started again. */
static void test_order(void) {
        JobSettings s = settings_of(3);
        Arrival arrival = {};
        uint64_t nsec, sum = 0;

        for (uint64_t v = 0; v < 9; v++) {
                g_assert_cmpuint(play(&arrival, &s, 3, v, &nsec), ==, v % 3);
                sum += nsec;
                g_assert_cmpuint(arrival.free_nsec, ==, sum);
                /* In the first turn the learner waits for the first actor to start, and the two other actors
                 * wait for the learner. From the second turn on, the first actor plays while the learner
                 * learns from the others. */
                if (v == 0)
                        g_assert_cmpuint(nsec, ==, COLD_NSEC + UPDATE_NSEC);
                else
                        g_assert_cmpuint(nsec, ==, v % 3 == 0 ? WARM_NSEC - UPDATE_NSEC : UPDATE_NSEC);
        }
        g_assert_cmpuint(arrival_next(&(Arrival){}, &s, STEPS), ==, UINT32_MAX);
}

/* With one actor no rollouts overlap, so a round takes as long as if it waited for all actors. */
static void test_alone(void) {
        JobSettings s = settings_of(1);
        Arrival arrival = {};
        uint64_t nsec;

        for (uint64_t v = 0; v < 4; v++) {
                g_assert_cmpuint(play(&arrival, &s, 1, v, &nsec), ==, 0);
                g_assert_cmpuint(nsec, ==, clock_round_nsec(v == 0 ? COLD_NSEC : WARM_NSEC, UPDATE_NSEC));
        }
}

/* A slow actor is overtaken by all actors that are ready before it, and it keeps its policy version. */
static void test_overtaken(void) {
        JobSettings s = settings_of(2);
        Arrival arrival = {};
        uint64_t v = 0;

        play(&arrival, &s, 1, v++, NULL);
        arrival_begin(&arrival, &s, 2, v); /* actor 1 starts cold, actor 0 is warm */
        g_assert_cmpuint(arrival.flights[1].policy_version, ==, 1);
        g_assert_cmpuint(play(&arrival, &s, 2, v++, NULL), ==, 0);
        g_assert_cmpuint(play(&arrival, &s, 2, v++, NULL), ==, 0);
        g_assert_cmpuint(play(&arrival, &s, 2, v++, NULL), ==, 1);
        g_assert_cmpuint(play(&arrival, &s, 2, v++, NULL), ==, 0);
}

/* A larger number of actors takes effect at once. With a smaller number, each surplus actor finishes its
 * rollout. */
static void test_counts(void) {
        JobSettings s = settings_of(4);
        Arrival arrival = {};
        uint64_t v = 0;

        g_assert_cmpuint(play(&arrival, &s, 4, v++, NULL), ==, 0);
        g_assert_cmpuint(play(&arrival, &s, 2, v++, NULL), ==, 1);
        g_assert_cmpuint(play(&arrival, &s, 2, v++, NULL), ==, 2);
        g_assert_false(arrival_acts(&arrival, 2));
        g_assert_cmpuint(play(&arrival, &s, 2, v++, NULL), ==, 3);
        for (unsigned k = 0; k < 6; k++)
                g_assert_cmpuint(play(&arrival, &s, 2, v++, NULL), ==, k % 2);
        g_assert_cmpuint(arrival.flights[3].state, ==, FLIGHT_IDLE);

        arrival_begin(&arrival, &s, 4, v);
        g_assert_cmpuint(arrival.flights[3].state, ==, FLIGHT_WARM);
        g_assert_cmpuint(arrival.flights[3].started_nsec, ==, arrival.free_nsec);
        g_assert_cmpuint(arrival.flights[3].policy_version, ==, v);
}

/* WarmActors=1 with two idle actors: the actor with the lower number stays warm. */
static void test_warm(void) {
        JobSettings s = settings_of(3);
        Arrival arrival = {};
        uint64_t v = 0;

        s.present[SETTING_Scaling_WarmActors / 64] |= UINT64_C(1) << (SETTING_Scaling_WarmActors % 64);
        s.n_actors_warm = 1;
        for (unsigned k = 0; k < 6; k++)
                play(&arrival, &s, k < 3 ? 3 : 1, v++, NULL);
        arrival_begin(&arrival, &s, 1, v);
        g_assert_cmpuint(arrival.flights[1].state, ==, FLIGHT_IDLE);
        g_assert_cmpuint(arrival.flights[2].state, ==, FLIGHT_ABSENT);
        arrival_begin(&arrival, &s, 3, v);
        g_assert_cmpuint(arrival.flights[1].state, ==, FLIGHT_WARM);
        g_assert_cmpuint(arrival.flights[2].state, ==, FLIGHT_COLD);
}

/* Compares the simulation with a list of events, for random numbers of actors. Also, the policy version of
 * each actor stays in its bank while the actor acts. */
static void test_model(void) {
        enum { MOST = 7, BANKS = MOST + 2 };

        for (unsigned run = 0; run < 200; run++) {
                JobSettings s = settings_of(MOST);
                uint64_t due[MOST] = {}, versions[MOST], banks[BANKS] = {}, free_nsec = 0, nsec;
                bool acts[MOST] = {}, known[MOST] = {};
                Arrival arrival = {};

                for (uint64_t v = 0; v < 60; v++) {
                        uint32_t n = (uint32_t) g_test_rand_int_range(1, MOST + 1), first = MOST;

                        for (uint32_t a = 0; a < n; a++)
                                if (!acts[a]) {
                                        acts[a] = true;
                                        due[a] = free_nsec + (known[a] ? WARM_NSEC : COLD_NSEC);
                                        versions[a] = v;
                                        known[a] = true;
                                }
                        for (uint32_t a = 0; a < MOST; a++)
                                if (acts[a] && (first == MOST || due[a] < due[first]))
                                        first = a;
                        free_nsec = MAX(free_nsec, due[first]) + UPDATE_NSEC;

                        arrival_begin(&arrival, &s, n, v);
                        for (uint32_t a = 0; a < MOST; a++) {
                                g_assert_true(arrival_acts(&arrival, a) == acts[a]);
                                if (!acts[a])
                                        continue;
                                g_assert_cmpuint(arrival.flights[a].policy_version, ==, versions[a]);
                                g_assert_cmpuint(banks[arrival.flights[a].policy_bank], ==, versions[a]);
                        }
                        g_assert_true(arrival_possible(&arrival, MOST, BANKS, v));
                        g_assert_cmpuint(play(&arrival, &s, n, v, &nsec), ==, first);
                        g_assert_cmpuint(arrival.free_nsec, ==, free_nsec);
                        banks[arrival.policy_bank] = v + 1;
                        acts[first] = false;
                }
        }
}

static void test_possible(void) {
        JobSettings s = settings_of(3);
        Arrival arrival = {}, broken;

        play(&arrival, &s, 3, 0, NULL);
        g_assert_true(arrival_possible(&arrival, 3, 5, 1));
        for (unsigned k = 0; k < 5; k++) {
                broken = arrival;
                switch (k) {
                case 0: broken.policy_bank = 5; break;
                case 1: broken.flights[1].state = _FLIGHT_STATE_MAX; break;
                case 2: broken.flights[1].policy_bank = 5; break;
                case 3: broken.flights[1].policy_version = 2; break;
                case 4: broken.flights[1].started_nsec = arrival.free_nsec + 1; break;
                }
                g_assert_false(arrival_possible(&broken, 3, 5, 1));
        }
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/arrival/order", test_order);
        g_test_add_func("/arrival/alone", test_alone);
        g_test_add_func("/arrival/overtaken", test_overtaken);
        g_test_add_func("/arrival/counts", test_counts);
        g_test_add_func("/arrival/warm", test_warm);
        g_test_add_func("/arrival/model", test_model);
        g_test_add_func("/arrival/possible", test_possible);
        return g_test_run();
}
