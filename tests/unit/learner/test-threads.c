/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The number of threads changes only the time: the policy is the same, bit for bit, with narrow layers and
 * with wide ones. Each task is done once. */
#include <sched.h>
#include <stdatomic.h>

#include "tests/unit/learner-fixture.h"

static void learn_rounds(
                const char *learner, uint32_t n_threads, uint32_t n_rounds, uint8_t ret_sha256[32]) {
        g_autofree char *sections =
                        g_strdup_printf("[Scaling]\nActors=3\n[Actor]\nEnvsPerActor=4\nRolloutSteps=32\n"
                                        "[Learner]\nThreads=%u\nEpochs=3\n%s\n",
                                        n_threads, learner);
        ActordEnvSpec spec = bed_spec_box(5, 2, 0);
        Answer learned = {};
        Bed bed = {};

        spec.horizon_steps = 30;
        bed_start(&bed, sections, &spec);
        for (uint32_t round = 0; round < n_rounds; round++) {
                bed_take_all(&bed, 3, round & 1, round);
                learned = bed_learn(&bed, round, 3);
                g_assert_cmpuint(learned.slowest_thread_nsec, >, 0);
        }
        memcpy(ret_sha256, learned.sha256, 32);
        bed_close(&bed);
}

static void test_equal(gconstpointer learner) {
        uint8_t expected[32], sha256[32];

        learn_rounds(learner, 1, 6, expected);
        for (uint32_t n = 2; n <= 5; n++) {
                learn_rounds(learner, n, 6, sha256);
                g_assert_cmpmem(sha256, 32, expected, 32);
        }
}

enum { TASKS = 37 };

typedef struct Count {
        uint32_t done[TASKS], by[TASKS];
} Count;

static void count(void *arg, uint32_t task, uint32_t thread) {
        Count *c = arg;

        c->done[task]++;
        c->by[task] = thread;
}

typedef void (*Run)(Threads *threads, ThreadWork work, void *arg, uint32_t n_tasks);

static void expect_each_done_once(uint32_t n, Run run, bool dealt) {
        Threads *threads;
        Count c = {};

        g_assert_cmpint(threads_new(n, &threads), ==, 0);
        g_assert_cmpuint(threads_count(threads), ==, n);
        for (unsigned phase = 0; phase < 3000; phase++) {
                unsigned n_tasks = phase % (TASKS + 1);

                /* Now and then wait longer than threads spin before they sleep. */
                if (phase % 500 == 0)
                        g_usleep(2000);
                if (phase % 1000 == 0)
                        threads_rouse(threads);
                run(threads, count, &c, n_tasks);
                for (unsigned i = 0; i < n_tasks; i++)
                        if (dealt && n_tasks > 1)
                                g_assert_cmpuint(c.by[i], ==, i % n);
                        else
                                g_assert_cmpuint(c.by[i], <, n);
        }
        for (unsigned i = 0; i < TASKS; i++) {
                unsigned expected = 0;

                for (unsigned phase = 0; phase < 3000; phase++)
                        expected += phase % (TASKS + 1) > i;
                g_assert_cmpuint(c.done[i], ==, expected);
        }
        threads_free(threads);
}

static void test_tasks(void) {
        for (uint32_t n = 1; n <= 4; n++) {
                expect_each_done_once(n, threads_run, false);
                expect_each_done_once(n, threads_deal, true);
        }
}

/* Phases of threads_deal() and of threads_run() by turns. A thread that is late for one phase does no task
 * of it once the next phase has begun. */
static void test_mixed(void) {
        Threads *threads;
        Count c = {};

        g_assert_cmpint(threads_new(3, &threads), ==, 0);
        for (unsigned phase = 0; phase < 20000; phase++) {
                Run run = phase % 3 == 0 ? threads_deal : threads_run;

                run(threads, count, &c, 5);
        }
        for (unsigned i = 0; i < 5; i++)
                g_assert_cmpuint(c.done[i], ==, 20000);
        threads_free(threads);
}

/* Phases have 2 tasks and 32 tasks by turns. A thread without a task in one phase may wake up while the next
 * phase is being dealt, and do its task early. Each task still counts once. */
static void test_late(void) {
        Threads *threads;
        Count c = {};

        g_assert_cmpint(threads_new(32, &threads), ==, 0);
        for (unsigned phase = 0; phase < 20000; phase++)
                threads_deal(threads, count, &c, phase & 1 ? 32 : 2);
        for (unsigned i = 0; i < 32; i++)
                g_assert_cmpuint(c.done[i], ==, i < 2 ? 20000 : 10000);
        threads_free(threads);
}

static void burn(void *arg, uint32_t task, uint32_t thread) {
        struct timespec start, now;

        (void) clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
        do
                (void) clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        while ((now.tv_sec - start.tv_sec) * 1000000000L + now.tv_nsec - start.tv_nsec <
                        3000000L * (task + 1));
}

/* Tasks of 3, 6 and 9 ms on three threads: the meter counts the 9 ms of the slowest task, however long the
 * caller waited, and whichever thread did a task. */
static void test_meter(void) {
        Threads *threads;
        uint64_t metered;

        g_assert_cmpint(threads_new(3, &threads), ==, 0);
        threads_meter(threads);
        threads_deal(threads, burn, NULL, 3);
        metered = threads_metered_nsec(threads);
        g_assert_cmpuint(metered, >=, 9000000);
        g_assert_cmpuint(metered, <, 12000000);
        threads_free(threads);
}

typedef struct Fleet {
        _Atomic bool taken; /* by a thread other than the caller */
        _Atomic uint32_t n_by_other;
} Fleet;

/* The other thread loses its core in the middle of each task. */
static void stall(void *arg, uint32_t task, uint32_t thread) {
        Fleet *fleet = arg;
        gint64 until = g_get_monotonic_time() + 2000;

        if (thread > 0) {
                fleet->taken = true;
                fleet->n_by_other++;
                g_usleep(20000);
                return;
        }
        /* Waits, so that the other thread can take its task in time, whatever core it has. */
        while (!fleet->taken && g_get_monotonic_time() < until)
                g_usleep(50);
        fleet->taken = false;
}

/* If the help of threads costs more than it brings, the caller asks for no help for a long time. */
static void test_alone(void) {
        Fleet fleet = {};
        Threads *threads;

        g_assert_cmpint(threads_new(2, &threads), ==, 0);
        for (unsigned phase = 0; phase < 200; phase++)
                threads_run(threads, stall, &fleet, 2);
        g_assert_cmpuint(fleet.n_by_other, <=, 3);
        threads_free(threads);
}

/* The other thread stops once, for a long time. */
static void stall_once(void *arg, uint32_t task, uint32_t thread) {
        Fleet *fleet = arg;
        gint64 until = g_get_monotonic_time() + 2000;

        if (thread > 0) {
                fleet->taken = true;
                if (fleet->n_by_other++ == 0)
                        g_usleep(400000);
                return;
        }
        while (!fleet->taken && g_get_monotonic_time() < until)
                g_usleep(50);
        fleet->taken = false;
}

/* The time that the help of a thread costs counts only up to a limit (learner/threads.c). Otherwise the
 * caller would work alone for 20 s after it has lost 400 ms once. */
static void test_forgiven(void) {
        gint64 until = g_get_monotonic_time() + 10 * G_USEC_PER_SEC;
        Fleet fleet = {};
        Threads *threads;

        if (g_get_num_processors() < 2) {
                g_test_skip("one CPU: threads are never asked for help");
                return;
        }
        g_assert_cmpint(threads_new(2, &threads), ==, 0);
        while (fleet.n_by_other < 2 && g_get_monotonic_time() < until)
                threads_run(threads, stall_once, &fleet, 2);
        g_assert_cmpuint(fleet.n_by_other, >=, 2);
        threads_free(threads);
}

typedef struct Turns {
        atomic_uint n; /* tasks begun so far */
        uint32_t by[8], turn[8];
} Turns;

/* Each thread sleeps in its tasks, so that the other has time for its own, whatever cores are free. */
static void doze(void *arg, uint32_t task, uint32_t thread) {
        Turns *turns = arg;

        turns->by[task] = thread;
        turns->turn[task] = atomic_fetch_add(&turns->n, 1);
        g_usleep(2000);
}

/* Whether the task's thread began it before one of its own, those with task % 2 == thread. */
static bool is_too_early(const Turns *turns, uint32_t task) {
        uint32_t thread = turns->by[task];

        if (task % 2 == thread)
                return false;
        for (uint32_t own = thread; own < 8; own += 2)
                if (turns->turn[own] > turns->turn[task])
                        return true;
        return false;
}

static bool is_shared(const Turns *turns) {
        for (uint32_t task = 0; task < 8; task++)
                if (turns->by[task] > 0)
                        return true;
        return false;
}

/* A thread does its own tasks first: what they read and write is in its core's cache. It helps with others
 * when its own are taken, which is often on busy cores. Phases in which the caller works alone have no such
 * order. */
static void test_own_first(void) {
        gint64 until = g_get_monotonic_time() + 20 * G_USEC_PER_SEC;
        uint32_t n_early = 0, n = 0;
        Threads *threads;

        if (g_get_num_processors() < 2) {
                g_test_skip("one CPU: threads are never asked for help");
                return;
        }
        g_assert_cmpint(threads_new(2, &threads), ==, 0);
        while (n < 160 && g_get_monotonic_time() < until) {
                Turns turns = {};

                threads_run(threads, doze, &turns, 8);
                if (!is_shared(&turns))
                        continue;
                for (uint32_t task = 0; task < 8; task++, n++)
                        n_early += is_too_early(&turns, task);
        }
        threads_free(threads);
        if (n == 0) {
                g_test_skip("busy cores: the caller worked alone");
                return;
        }
        /* Without an order, it would be more than a third. A thread may lose its core between taking a task
         * and beginning it. */
        g_assert_cmpuint(n_early, <, n / 16);
}

typedef struct Crowd {
        pid_t last;        /* the thread that did the last task of thread 1 */
        uint32_t n_others; /* how often this was another thread than before */
} Crowd;

static void crowd_task(void *arg, uint32_t task, uint32_t thread) {
        Crowd *crowd = arg;

        if (thread == 0) {
                gint64 until = g_get_monotonic_time() + 300;

                while (g_get_monotonic_time() < until)
                        ;
                return;
        }
        if (crowd->last != gettid())
                crowd->n_others++;
        crowd->last = gettid();
}

static void pin(const cpu_set_t *set) {
        g_assert_cmpint(sched_setaffinity(0, sizeof(*set), set), ==, 0);
}

/* Caller and thread share a core, since both are pinned to it. So the thread has successors, which do its
 * tasks. All of them have ended when threads_free() returns. */
static void test_successors(void) {
        gint64 until = g_get_monotonic_time() + 20 * G_USEC_PER_SEC;
        cpu_set_t all, one;
        Crowd crowd = {};
        Threads *threads;

        g_assert_cmpint(sched_getaffinity(0, sizeof(all), &all), ==, 0);
        if (CPU_COUNT(&all) < 2) {
                g_test_skip("one CPU: threads are never asked for help");
                return;
        }
        CPU_ZERO(&one);
        for (int i = 0; CPU_COUNT(&one) == 0; i++)
                if (CPU_ISSET(i, &all))
                        CPU_SET(i, &one);

        pin(&one);
        g_assert_cmpint(threads_new(2, &threads), ==, 0);
        pin(&all);
        threads_meter(threads); /* finds several CPUs */
        pin(&one);
        while (crowd.n_others < 3 && g_get_monotonic_time() < until)
                threads_run(threads, crowd_task, &crowd, 8);
        g_assert_cmpuint(crowd.n_others, >=, 3);
        threads_free(threads);
        pin(&all);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/threads/tasks", test_tasks);
        g_test_add_func("/threads/mixed", test_mixed);
        g_test_add_func("/threads/late", test_late);
        g_test_add_func("/threads/meter", test_meter);
        g_test_add_func("/threads/alone", test_alone);
        g_test_add_func("/threads/forgiven", test_forgiven);
        g_test_add_func("/threads/own-first", test_own_first);
        g_test_add_func("/threads/successors", test_successors);
        g_test_add_data_func("/threads/equal/small-minibatches", "MinibatchSize=50", test_equal);
        g_test_add_data_func("/threads/equal/full-batch",
                        "Updates=full-batch\nMinibatchSize=128\nNormalizeObservations=yes", test_equal);
        g_test_add_data_func("/threads/equal/wide",
                        "HiddenLayers=256 128\nActivation=relu\nMinibatchSize=128\nEpochs=1", test_equal);
        g_test_add_data_func("/threads/equal/shared", "SharedNetwork=yes\nMinibatchSize=200", test_equal);
        return g_test_run();
}
