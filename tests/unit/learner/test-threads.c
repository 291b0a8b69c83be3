/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Threads change nothing but the time: whatever their number, the policy is the same, bit for bit; narrow
 * layers and wide ones. And tasks are each done once. */
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
        bed_settings("CartPole-v1", sections, &bed.settings);
        bed_open(&bed, &spec, -1, -1);
        bed_restore(&bed);
        for (uint32_t round = 0; round < n_rounds; round++) {
                for (uint32_t a = 0; a < 3; a++) {
                        bed_fill(&bed, a, round & 1, round);
                        bed_take(&bed, a, round & 1);
                }
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

static void test_tasks(void) {
        for (uint32_t n = 1; n <= 4; n++) {
                Threads *threads;
                Count c = {};

                g_assert_cmpint(threads_new(n, &threads), ==, 0);
                g_assert_cmpuint(threads_count(threads), ==, n);
                for (unsigned phase = 0; phase < 3000; phase++) {
                        /* Longer than threads look before they sleep, now and then. */
                        if (phase % 500 == 0)
                                g_usleep(2000);
                        threads_run(threads, count, &c, phase % (TASKS + 1));
                        for (unsigned i = 0; i < phase % (TASKS + 1); i++)
                                g_assert_cmpuint(c.by[i], ==, phase % (TASKS + 1) == 1 ? 0 : i % n);
                }
                for (unsigned i = 0; i < TASKS; i++) {
                        unsigned expected = 0;

                        for (unsigned phase = 0; phase < 3000; phase++)
                                expected += phase % (TASKS + 1) > i;
                        g_assert_cmpuint(c.done[i], ==, expected);
                }
                threads_free(threads);
        }
}

static void burn(void *arg, uint32_t task, uint32_t thread) {
        struct timespec start, now;

        (void) clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
        do
                (void) clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        while ((now.tv_sec - start.tv_sec) * 1000000000L + now.tv_nsec - start.tv_nsec <
                        3000000L * (task + 1));
}

/* Tasks of 3, 6 and 9 ms on three threads: the phase took 9, whatever the caller waited. */
static void test_meter(void) {
        Threads *threads;
        uint64_t metered;

        g_assert_cmpint(threads_new(3, &threads), ==, 0);
        threads_meter(threads);
        threads_run(threads, burn, NULL, 3);
        metered = threads_metered_nsec(threads);
        g_assert_cmpuint(metered, >=, 9000000);
        g_assert_cmpuint(metered, <, 12000000);
        threads_free(threads);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/threads/tasks", test_tasks);
        g_test_add_func("/threads/meter", test_meter);
        g_test_add_data_func("/threads/equal/small-minibatches", "MinibatchSize=50", test_equal);
        g_test_add_data_func("/threads/equal/full-batch",
                        "Updates=full-batch\nMinibatchSize=128\nNormalizeObservations=yes", test_equal);
        g_test_add_data_func("/threads/equal/wide",
                        "HiddenLayers=256 128\nActivation=relu\nMinibatchSize=128\nEpochs=1", test_equal);
        g_test_add_data_func("/threads/equal/shared", "SharedNetwork=yes\nMinibatchSize=200", test_equal);
        return g_test_run();
}
