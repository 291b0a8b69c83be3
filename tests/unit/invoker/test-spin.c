/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* When the invoker spins for an answer: after short orders, while a core is free. A job with long rounds
 * shows that it sleeps there. */
#include "invoker/spin.h"
#include "tests/unit/invoker-fixture.h"

enum { USEC = 1000, MSEC = 1000000, KIND = ORDER_ROLLOUT };

static void test_short_orders(void) {
        Spin spin = {};

        /* Nothing is known of the first order. */
        g_assert_cmpuint(spin_nsec(&spin, KIND, 2, 1, 0), ==, 0);
        spin_learn(&spin, KIND, 80 * USEC);
        g_assert_cmpuint(spin_nsec(&spin, KIND, 2, 1, 0), >=, 80 * USEC);
        g_assert_cmpuint(spin_nsec(&spin, KIND, 2, 1, 0), <=, SPIN_ORDER_NSEC);
        g_assert_cmpuint(spin_nsec(&spin, ORDER_LEARN, 2, 1, 0), ==, 0);
        /* A longer order is waited for asleep, and so is the next one. */
        spin_learn(&spin, KIND, 3 * MSEC);
        g_assert_cmpuint(spin_nsec(&spin, KIND, 2, 1, 0), ==, 0);
        spin_learn(&spin, KIND, 0);
        g_assert_cmpuint(spin_nsec(&spin, KIND, 2, 1, 0), >, 0);
}

static void test_cores(void) {
        Spin spin = {};

        spin_learn(&spin, KIND, 80 * USEC);
        g_assert_cmpuint(spin_nsec(&spin, KIND, 1, 1, 0), ==, 0);
        g_assert_cmpuint(spin_nsec(&spin, KIND, 2, 2, 0), ==, 0);
        g_assert_cmpuint(spin_nsec(&spin, KIND, 4, 3, 0), >, 0);
}

/* Spins until the balance is used up. Returns when the next spin is allowed, from now on. */
static uint64_t lose(Spin *spin, bool answered, uint64_t spun_nsec, uint64_t displaced_nsec, unsigned most) {
        unsigned n = 0;

        for (; spin_nsec(spin, KIND, 2, 1, MSEC) > 0 && n < most; n++)
                spin_ended(spin, answered, spun_nsec, displaced_nsec, MSEC);
        g_assert_cmpuint(n, <, most);
        return spin->sleeps_until_nsec - MSEC;
}

/* Over a long time, other programs lose at most a small share to spins. */
static void test_balance(void) {
        Spin spin = {};
        uint64_t later;

        spin_learn(&spin, KIND, 80 * USEC);
        for (unsigned i = 0; i < 1000; i++)
                spin_ended(&spin, true, 80 * USEC, 0, MSEC);
        g_assert_cmpuint(spin_nsec(&spin, KIND, 2, 1, MSEC), >, 0);

        /* Another program had the core for 4 ms: the invoker sleeps for at least 40 times that. */
        later = lose(&spin, true, 4 * MSEC, 4 * MSEC, 2);
        g_assert_cmpuint(later, >=, 100 * MSEC);
        g_assert_cmpuint(spin_nsec(&spin, KIND, 2, 1, MSEC + later - 1), ==, 0);
        g_assert_cmpuint(spin_nsec(&spin, KIND, 2, 1, MSEC + later), >, 0);

        /* Spins without an answer use up the credit, too. */
        spin = (Spin){};
        spin_learn(&spin, KIND, 80 * USEC);
        g_assert_cmpuint(lose(&spin, false, 160 * USEC, 0, 10), >, 0);

        /* A program that was stopped for an hour tries again after seconds. */
        spin = (Spin){};
        spin_learn(&spin, KIND, 80 * USEC);
        g_assert_cmpuint(lose(&spin, true, 3600ull * 1000 * MSEC, 3600ull * 1000 * MSEC, 2), <=,
                        2000ull * MSEC);
}

/* A fused job whose rounds take milliseconds: the invoker uses little of this time. */
static void test_long_rounds(void) {
        uint64_t wall_nsec = 0, control_nsec = 0;
        Job job;

        job_init(&job, SANDBOX_LEVEL_PROCESS,
                        "[Job]\nEnvironment=CartPole-v1\nStopSteps=8192\n[Scaling]\nActors=1\n"
                        "[Actor]\nEnvsPerActor=8\nRolloutSteps=128\n[Learner]\nMinibatchSize=64\nEpochs=20\n"
                        "[Distribution]\nPolicy=fused\n");
        if (!job_start_or_skip(&job))
                return;
        (void) job_run(&job);
        for (size_t i = 0; i < job.n_records; i++) {
                const Record *r = &job.records[i];

                if (r->kind != RECORD_ROUND)
                        continue;
                wall_nsec += r->metered.end_nsec - r->metered.start_nsec;
                control_nsec += r->metered.cpu_nsec;
        }
        g_test_message("control %" G_GUINT64_FORMAT " us of %" G_GUINT64_FORMAT " us", control_nsec / USEC,
                        wall_nsec / USEC);
        g_assert_cmpuint(wall_nsec, >, 8 * 2 * MSEC);
        g_assert_cmpuint(control_nsec, <, wall_nsec / 10);
        job_done(&job);
}

int main(int argc, char **argv) {
        if (!job_tests_init(&argc, &argv))
                return 0;

        g_test_add_func("/spin/short-orders", test_short_orders);
        g_test_add_func("/spin/cores", test_cores);
        g_test_add_func("/spin/balance", test_balance);
        g_test_add_func("/spin/long-rounds", test_long_rounds);
        return job_tests_run();
}
