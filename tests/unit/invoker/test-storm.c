/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Attacks by plugins that ring their eventfd (the bell, include/turn.h) without an answer, and by plugins
 * that sleep. The test plays the spawner and the daemon, as in test-invoker.c. */
#include "lib/boottime.h"
#include "tests/unit/invoker-fixture.h"

/* How often the invoker has gone to sleep. */
static uint64_t n_sleeps(const Job *job) {
        static const char key[] = "\nvoluntary_ctxt_switches:";
        g_autofree char *path = g_strdup_printf("/proc/%d/status", (int) job->pid), *text = NULL;
        const char *line;

        g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
        line = strstr(text, key);
        g_assert_nonnull(line);
        return g_ascii_strtoull(line + strlen(key), NULL, 10);
}

static uint64_t actors_billed_nsec(const Job *job, uint64_t round) {
        uint64_t sum = 0;

        for (size_t i = 0; i < job->n_records; i++)
                if (job->records[i].kind == RECORD_ROLLOUT && job->records[i].round == round)
                        sum += job->records[i].metered.cpu_nsec;
        return sum;
}

/* Two actors ring their bells a million times in a step of the second round. The invoker wakes for a few of
 * these rings, and then only once in a millisecond. It bills this CPU time to the actors, and their rounds
 * go on. */
static void test_storm(gconstpointer data) {
        enum { N_ACTORS = 2, WAKES_ELSE = 300, LOOKS_LEAST_NSEC = 200000 };
        uint64_t begun, msec, n_before, n_wakes, used, billed;
        uint32_t level = GPOINTER_TO_UINT(data);
        const Record *ended;
        Job job;

        if (!job_init_hostile(&job, level,
                            "[Job]\nEnvironment=./hostile.so\n[Environment]\nHow=ring\n[Scaling]\nActors=2\n"
                            "[Actor]\nRolloutSteps=16\n[Learner]\nMinibatchSize=32\nEpochs=1\n"))
                return;
        if (!job_start_or_skip(&job))
                return;
        (void) job_connect(&job);
        job_round(&job, 1, N_ACTORS);
        begun = clock_boottime();
        n_before = n_sleeps(&job);
        used = actors_cpu_nsec(&job);
        job_round(&job, 2, N_ACTORS);
        n_wakes = n_sleeps(&job) - n_before;
        msec = (clock_boottime() - begun) / 1000000u;
        used = actors_cpu_nsec(&job) - used;
        billed = actors_billed_nsec(&job, 2);
        g_test_message("the invoker slept %" PRIu64 " times in %" PRIu64 " ms", n_wakes, msec);
        g_test_message("billed %" PRIu64 " us, used %" PRIu64 " us", billed / 1000, used / 1000);
        g_assert_cmpuint(n_wakes, <, msec + WAKES_ELSE);
        /* /proc says how much CPU time the actors have used; 0: it does not say so on this host. */
        if (used > 0)
                g_assert_cmpuint(billed, >, used + LOOKS_LEAST_NSEC);

        job.plan.end = PLAN_END_INTERRUPTED;
        ended = job_finish(&job);
        g_assert_cmpuint(ended->end, ==, PLAN_END_INTERRUPTED);
        g_assert_cmpuint(job_count(&job, RECORD_ROLLOUT, false), ==, 2 * N_ACTORS);
        g_assert_cmpuint(job_count(&job, RECORD_FAULT, false), ==, 0);
        job_done(&job);
}

int main(int argc, char **argv) {
        gpointer process = level_process(), full = level_full();

        if (!job_tests_init(&argc, &argv))
                return 0;

        g_test_add_data_func("/storm/process", process, test_storm);
        g_test_add_data_func("/storm/full", full, test_storm);
        return job_tests_run();
}
