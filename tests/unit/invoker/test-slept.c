/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An actor that sleeps in a step pays for the memory that it holds. An actor that waits for a CPU pays
 * nothing for the wait. */
#include "invoker/slept.h"
#include "lib/boottime.h"
#include "lib/clock.h"
#include "tests/unit/invoker-fixture.h"

static void test_parse(void) {
        uint64_t cpu, delay;

        g_assert_cmpint(schedstat_parse("728072 479012 2\n", &cpu, &delay), ==, 0);
        g_assert_cmpuint(cpu, ==, 728072);
        g_assert_cmpuint(delay, ==, 479012);
        g_assert_cmpint(schedstat_parse("0 0 0\n", &cpu, &delay), ==, -ENODATA);
        g_assert_cmpint(schedstat_parse("", &cpu, &delay), ==, -EBADMSG);
        g_assert_cmpint(schedstat_parse("12", &cpu, &delay), ==, -EBADMSG);
        g_assert_cmpint(schedstat_parse("12 \n", &cpu, &delay), ==, -EBADMSG);
        g_assert_cmpint(schedstat_parse("what else", &cpu, &delay), ==, -EBADMSG);
}

static void test_tolerance(void) {
        enum { MSEC = 1000000 };

        g_assert_cmpuint(slept_of(1000 * MSEC, 10 * MSEC, 20 * MSEC, 30 * MSEC), ==, 940 * MSEC);
        g_assert_cmpuint(slept_of(10 * MSEC, 8 * MSEC, 20 * MSEC, 0), ==, 0);
        g_assert_cmpuint(slept_of(10 * MSEC, 9 * MSEC + 1, 0, 0), ==, 0);
        g_assert_cmpuint(slept_of(1000 * MSEC, 991 * MSEC, 0, 0), ==, 0);
        g_assert_cmpuint(slept_of(1000 * MSEC, UINT64_MAX, UINT64_MAX, UINT64_MAX), ==, 0);
}

static bool counts_delays(void) {
        g_autofree char *text = NULL;
        uint64_t cpu, delay;

        return g_file_get_contents("/proc/self/schedstat", &text, NULL, NULL) &&
               schedstat_parse(text, &cpu, &delay) >= 0;
}

/* By how much a round's rollouts were billed more emulated time than their work took: the time for which
 * they slept. */
static uint64_t slept_nsec(const Job *job, uint64_t round) {
        uint64_t sum = 0;

        for (size_t i = 0; i < job->n_records; i++) {
                const Record *r = &job->records[i];

                if (r->kind == RECORD_ROLLOUT && r->round == round)
                        sum += r->metered.emulated_nsec - clock_invocation_nsec(&job->settings,
                                                                          r->metered.cpu_nsec,
                                                                          r->metered.n_steps, r->cold);
        }
        return sum;
}

static void stop(Job *job) {
        job->plan.end = PLAN_END_INTERRUPTED;
        g_assert_cmpuint(job_finish(job)->end, ==, PLAN_END_INTERRUPTED);
        job_done(job);
}

#define SLOW                                                                                              \
        "[Job]\nEnvironment=./hostile.so\n[Environment]\nHow=slow\n[Actor]\nRolloutSteps=16\n[Learner]\n" \
        "MinibatchSize=16\nEpochs=1\n"

/* An environment sleeps for 1.2 s in its 20th step. Only under Clock=metered is that time billed. */
static void test_sleeper(gconstpointer data) {
        static const char *const clocks[] = { "[Billing]\nClock=metered\n", "[Billing]\nClock=model\n" };
        uint32_t level = GPOINTER_TO_UINT(data);

        if (!hostile || !counts_delays()) {
                g_test_skip("no compiler for the environment, or a kernel that counts no delays");
                return;
        }
        for (size_t k = 0; k < G_N_ELEMENTS(clocks); k++) {
                g_autofree char *text = g_strconcat(SLOW, clocks[k], NULL);
                uint64_t nsec;
                Job job;

                if (!job_init_hostile(&job, level, text))
                        return;
                if (!job_start_or_skip(&job))
                        return;
                (void) job_connect(&job);
                job_round(&job, 1, 1);
                job_round(&job, 2, 1);
                nsec = slept_nsec(&job, 2);
                g_test_message("slept %.3f ms, and %.3f ms", (double) slept_nsec(&job, 1) / 1e6,
                                (double) nsec / 1e6);
                if (k > 0)
                        g_assert_cmpuint(nsec, ==, 0);
                else {
                        g_assert_cmpuint(nsec, >=, 800000000);
                        g_assert_cmpuint(nsec, <=, 3600000000);
                }
                stop(&job);
        }
}

static pid_t keep_busy(void) {
        pid_t parent = getpid(), pid = fork();

        if (pid == 0)
                for (unsigned n = 0; getppid() == parent; n++)
                        for (volatile unsigned k = 0; k < 100000; k++)
                                ;
        g_assert_cmpint(pid, >, 0);
        return pid;
}

/* Two busy processes for each CPU compete with the actors, so an ordinary environment waits for a CPU longer
 * than it runs. Its waits must not count as sleep. */
static void test_crowded(void) {
        enum { BUSY_MAX = 64, N_ROUNDS = 8 };
        unsigned n_busy = g_get_num_processors() * 2;
        pid_t pids[BUSY_MAX];
        uint64_t begun, slept = 0;
        Job job;

        job_init(&job, SANDBOX_LEVEL_PROCESS,
                        "[Job]\nEnvironment=CartPole-v1\nStopSteps=1000000\n[Scaling]\nActors=2\n[Actor]\n"
                        "RolloutSteps=16384\n[Learner]\nMinibatchSize=4096\nEpochs=1\n");
        g_assert_true(job_start(&job));
        (void) job_connect(&job);
        n_busy = n_busy < BUSY_MAX ? n_busy : BUSY_MAX;
        for (unsigned k = 0; k < n_busy; k++)
                pids[k] = keep_busy();
        begun = clock_boottime();
        job_round(&job, N_ROUNDS, 2);
        begun = clock_boottime() - begun;
        for (unsigned k = 0; k < n_busy; k++) {
                g_assert_cmpint(kill(pids[k], SIGKILL), ==, 0);
                g_assert_cmpint(waitpid(pids[k], NULL, 0), ==, pids[k]);
        }
        for (uint64_t round = 1; round <= N_ROUNDS; round++)
                slept += slept_nsec(&job, round);
        g_test_message("%.3f ms of %.3f ms", (double) slept / 1e6, (double) begun / 1e6);
        g_assert_cmpuint(slept, <, begun / 10);
        stop(&job);
}

int main(int argc, char **argv) {
        gpointer process = level_process(), full = level_full();

        if (!job_tests_init(&argc, &argv))
                return 0;

        g_test_add_func("/slept/parse", test_parse);
        g_test_add_func("/slept/tolerance", test_tolerance);
        g_test_add_data_func("/slept/process/sleeper", process, test_sleeper);
        g_test_add_data_func("/slept/full/sleeper", full, test_sleeper);
        g_test_add_func("/slept/crowded", test_crowded);
        return job_tests_run();
}
