/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* When the invoker is awake for an answer: shortly before the answer of a short order, unless answers come
 * late. A real job shows that it sleeps in long rounds. */
#include "invoker/spin.h"
#include "tests/unit/invoker-fixture.h"

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

/* Runs a fused job. Returns its rounds' wall time and the CPU time of control in them. */
static bool run(const char *sets, uint64_t *ret_wall_nsec, uint64_t *ret_control_nsec) {
        g_autofree char *text = g_strconcat("[Job]\nEnvironment=CartPole-v1\n", sets,
                        "[Scaling]\nActors=1\n[Distribution]\nPolicy=fused\n", NULL);
        Job job;

        *ret_wall_nsec = *ret_control_nsec = 0;
        job_init(&job, SANDBOX_LEVEL_PROCESS, text);
        if (!job_start_or_skip(&job))
                return false;
        (void) job_run(&job);
        for (size_t i = 0; i < job.n_records; i++) {
                const Record *r = &job.records[i];

                if (r->kind != RECORD_ROUND)
                        continue;
                *ret_wall_nsec += r->metered.end_nsec - r->metered.start_nsec;
                *ret_control_nsec += r->metered.cpu_nsec;
        }
        job_done(&job);
        g_test_message("control %" G_GUINT64_FORMAT " us of %" G_GUINT64_FORMAT " us",
                        *ret_control_nsec / USEC, *ret_wall_nsec / USEC);
        return true;
}

/* In rounds of milliseconds the invoker uses little CPU time. */
static void test_long_rounds(void) {
        uint64_t wall_nsec, control_nsec;

        if (!run("StopSteps=8192\n[Actor]\nEnvsPerActor=8\nRolloutSteps=128\n"
                 "[Learner]\nMinibatchSize=64\nEpochs=20\n",
                            &wall_nsec, &control_nsec))
                return;
        g_assert_cmpuint(wall_nsec, >, 8 * 2 * MSEC);
        g_assert_cmpuint(control_nsec, <, wall_nsec / 10);
}

int main(int argc, char **argv) {
        if (!job_tests_init(&argc, &argv))
                return 0;

        g_test_add_func("/spin/begin", test_begin);
        g_test_add_func("/spin/expectation", test_expectation);
        g_test_add_func("/spin/balance", test_balance);
        g_test_add_func("/spin/long-rounds", test_long_rounds);
        return job_tests_run();
}
