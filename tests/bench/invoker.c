/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Measures how long an actor takes until it has made four steps: cold (from its fork), warm (from an order
 * for which it is thawed) and hot (from an order for which it waits). Also measures the CPU time of a round
 * outside of its workers. Prints medians over a job's own records. */
#include "tests/unit/invoker-fixture.h"

enum { N_ROUNDS = 201 };

#define TINY                                                                             \
        "[Job]\nEnvironment=%s\nStopSteps=1000000\n[Scaling]\nActors=2\nMinActors=1\n%s" \
        "[Actor]\nEnvsPerActor=1\nRolloutSteps=4\n[Learner]\nMinibatchSize=4\nEpochs=1\n"

static int compare(const void *a, const void *b) {
        double x = *(const double *) a, y = *(const double *) b;

        return x < y ? -1 : x > y;
}

static void print_median(const char *what, double *values, size_t n) {
        if (n == 0)
                return;
        qsort(values, n, sizeof(double), compare);
        printf("%-58s %8.1f us median, %8.1f us p95, of %zu\n", what, values[n / 2], values[n * 95 / 100],
                        n);
}

static uint64_t end_of_worker(const Job *job, size_t i, uint32_t container) {
        for (size_t k = i; k-- > 0;)
                if (job->records[k].kind == RECORD_WORKER && job->records[k].actor == container)
                        return job->records[k].metered.start_nsec;
        return 0;
}

/* Prints the median time from the order for a round (cold: from actor 1's fork) to the end of actor 1's
 * rollout of four steps. */
static void measure(const char *what, uint32_t level, const char *environment, const char *warm,
                bool alternate, bool cold) {
        g_autofree char *text = g_strdup_printf(TINY, environment, warm), *label = NULL;
        double values[N_ROUNDS], overhead[N_ROUNDS], startup[N_ROUNDS];
        size_t n = 0, n_overhead = 0, n_startup = 0;
        Job job;

        job_init(&job, level, text);
        job_make_cgroup(&job);
        if (!job_start(&job)) {
                printf("%s: not available here\n", what);
                job_done(&job);
                return;
        }
        (void) job_connect(&job);
        for (uint64_t round = 1; round <= N_ROUNDS; round++) {
                job.plan.through_round = round;
                job.plan.decision.n_actors = alternate && round % 2 ? 1 : 2;
                job.plan.acknowledged = job.position;
                job_send_plan(&job);
                while (job_read(&job), job_count(&job, RECORD_ROUND, false) < round)
                        g_assert_true(job_wait(&job));
                g_usleep(2000); /* so that the freezer has frozen */
        }
        job.plan.end = PLAN_END_INTERRUPTED;
        (void) job_finish(&job);

        for (size_t i = 0; i < job.n_records; i++) {
                const Record *r = &job.records[i];

                if (r->kind == RECORD_WORKER && r->actor != UINT32_MAX && n_startup < N_ROUNDS)
                        startup[n_startup++] = (double) (r->metered.end_nsec - r->metered.start_nsec) / 1e3;
                if (r->kind == RECORD_ROLLOUT && r->actor == 1 && r->round > 3 && (r->cold != 0) == cold &&
                                n < N_ROUNDS)
                        values[n++] = (double) (r->metered.end_nsec - (cold ? end_of_worker(&job, i, 1)
                                                                            : r->metered.start_nsec)) /
                                      1e3;
                if (r->kind == RECORD_ROUND && r->round > 3 && n_overhead < N_ROUNDS)
                        overhead[n_overhead++] = (double) r->metered.cpu_nsec / 1e3;
        }
        print_median(what, values, n);
        if (cold) {
                label = g_strdup_printf("  of these until it is ready");
                print_median(label, startup, n_startup);
        } else
                print_median("  control's CPU in such a round", overhead, n_overhead);
        job_done(&job);
}

int main(void) {
        if (!programs_are_built()) {
                fprintf(stderr, "bench/invoker: actord-invoker and actord-learner are not built\n");
                return EXIT_FAILURE;
        }
        measure("cold, full: fork to the end of 4 CartPole steps", SANDBOX_LEVEL_FULL, "CartPole-v1",
                        "WarmActors=0\n", true, true);
        measure("cold, process", SANDBOX_LEVEL_PROCESS, "CartPole-v1", "WarmActors=0\n", true, true);
        measure("warm, full: order to the end of 4 CartPole steps", SANDBOX_LEVEL_FULL, "CartPole-v1", "",
                        true, false);
        measure("hot, full: order to the end of 4 CartPole steps", SANDBOX_LEVEL_FULL, "CartPole-v1", "",
                        false, false);
        measure("hot, process", SANDBOX_LEVEL_PROCESS, "CartPole-v1", "", false, false);
        if (g_file_test(g_build_filename(programs, "env-mujoco.so", NULL), G_FILE_TEST_EXISTS)) {
                measure("cold, full: fork to the end of 4 Hopper steps", SANDBOX_LEVEL_FULL, "Hopper-v4",
                                "WarmActors=0\n", true, true);
                measure("hot, full: order to the end of 4 Hopper steps", SANDBOX_LEVEL_FULL, "Hopper-v4", "",
                                false, false);
        }
        return EXIT_SUCCESS;
}
