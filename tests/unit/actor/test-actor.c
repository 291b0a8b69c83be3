/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The actor's loop, as a process that takes orders, answers them, and ends with a status that says why. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "include/sandbox.h"
#include "lib/turn.h"
#include "tests/unit/actor-fixture.h"

static void *shared(size_t bytes) {
        void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        g_assert_true(p != MAP_FAILED);
        return p;
}

static void job_new_shared(Job *job, const ActordEnv *env) {
        actor_job_new(job, env, 2, 16, 1);
        free(job->worker);
        free(job->segments[0]);
        job->worker = shared(sizeof(*job->worker));
        job->segments[0] = shared(job->page.segment.segment_bytes);
        job->contexts[0].worker = job->worker;
        job->contexts[0].spin_nsec = 20000;
}

static void job_done_shared(Job *job) {
        (void) munmap(job->worker, sizeof(*job->worker));
        (void) munmap(job->segments[0], job->page.segment.segment_bytes);
        job->worker = NULL;
        job->segments[0] = NULL;
        actor_job_done(job);
}

static pid_t actor_start(const Job *job, bool quiet) {
        struct rlimit none = {};
        pid_t pid = fork();

        g_assert_cmpint(pid, >=, 0);
        if (pid == 0) {
                (void) setrlimit(RLIMIT_CORE, &none);
                if (quiet && !freopen("/dev/null", "w", stderr))
                        _exit(1);
                actor_main(&job->contexts[0]);
        }
        return pid;
}

static int actor_status(pid_t pid) {
        int status;

        g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
        return status;
}

static Answer actor_answer(Job *job) {
        gint64 end = g_get_monotonic_time() + 20 * G_USEC_PER_SEC;
        Answer answer;

        while (turn_answer(&job->worker->turn, &answer) == -EAGAIN) {
                g_usleep(100);
                g_assert_cmpint(g_get_monotonic_time(), <, end);
        }
        return answer;
}

static Answer actor_order(Job *job, Order order) {
        order.policy_version = 1;
        turn_order(&job->worker->turn, &order, true);
        return actor_answer(job);
}

static void test_orders(void) {
        Job job, here;
        Answer answer;
        pid_t pid;

        toy_plan = (ToyPlan){ .length_min = 3, .length_max = 9 };
        job_new_shared(&job, &toy_env);
        actor_job_new(&here, &toy_env, 2, 16, 1);
        pid = actor_start(&job, false);

        answer = actor_order(&job, (Order){ .kind = ORDER_PROBE });
        g_assert_cmpuint(answer.fault, ==, FAULT_NONE);
        g_assert_cmpstr(job.worker->spec.name, ==, "Toy");

        /* The actor's process gives the same result as the function in this program. */
        for (int k = 0; k < 3; k++) {
                answer = actor_order(&job, (Order){ .kind = ORDER_ROLLOUT,
                                                           .ordinal = job.ordinals[0],
                                                           .snapshot_bank = job.banks[0] });
                g_assert_cmpuint(answer.fault, ==, FAULT_NONE);
                actor_job_accept(&job, 0);
                actor_job_rollout(&here, 0);
                assert_results_equal(&job, &here, 0);
        }

        answer = actor_order(&job, (Order){ .kind = ORDER_EVALUATE, .ordinal = 1 });
        g_assert_cmpuint(answer.fault, ==, FAULT_NONE);
        g_assert_cmpuint(answer.n_steps, >=, 3);

        answer = actor_order(&job, (Order){ .kind = ORDER_LEARN });
        g_assert_cmpuint(answer.fault, ==, FAULT_INTERNAL);
        answer = actor_order(&job, (Order){ .kind = 12345 });
        g_assert_cmpuint(answer.fault, ==, FAULT_INTERNAL);

        turn_order(&job.worker->turn, &(Order){ .kind = ORDER_END }, true);
        g_assert_cmpint(actor_status(pid), ==, 0);
        job_done_shared(&job);
        actor_job_done(&here);
}

/* An actor that is killed in the middle and replaced gives the same result when it is asked again. */
static void test_killed(void) {
        Job job, here;
        pid_t pid;

        toy_plan = (ToyPlan){ .length_min = 3, .length_max = 9 };
        job_new_shared(&job, &toy_env);
        actor_job_new(&here, &toy_env, 2, 16, 1);

        for (int k = 0; k < 20; k++) {
                Order order = { .kind = ORDER_ROLLOUT,
                        .ordinal = job.ordinals[0],
                        .policy_version = 1,
                        .snapshot_bank = job.banks[0] };
                Answer answer;

                pid = actor_start(&job, false);
                turn_order(&job.worker->turn, &order, true);
                g_usleep((gulong) g_test_rand_int_range(0, 2000));
                g_assert_cmpint(kill(pid, SIGKILL), ==, 0);
                g_assert_cmpint(actor_status(pid), ==, SIGKILL);
                turn_reset(&job.worker->turn);

                pid = actor_start(&job, false);
                answer = actor_order(&job, order);
                g_assert_cmpuint(answer.fault, ==, FAULT_NONE);
                actor_job_accept(&job, 0);
                turn_order(&job.worker->turn, &(Order){ .kind = ORDER_END }, true);
                g_assert_cmpint(actor_status(pid), ==, 0);
                turn_reset(&job.worker->turn);

                actor_job_rollout(&here, 0);
                assert_results_equal(&job, &here, 0);
        }
        job_done_shared(&job);
        actor_job_done(&here);
}

static int aborting_reset(void *instance, ActordRandom *random, void *ret_observation) {
        abort();
}

static void test_abort(void) {
        ActordEnv aborting = toy_env;
        Job job;
        pid_t pid;
        int status;

        aborting.reset = aborting_reset;
        toy_plan = (ToyPlan){ .length_min = 3, .length_max = 9 };
        job_new_shared(&job, &aborting);
        pid = actor_start(&job, true);
        turn_order(&job.worker->turn, &(Order){ .kind = ORDER_ROLLOUT, .policy_version = 1 }, true);
        status = actor_status(pid);
        g_assert_true(WIFEXITED(status));
        g_assert_cmpint(WEXITSTATUS(status), ==, EXIT_ABORTED);
        job_done_shared(&job);
}

static void assert_does_not_load(Job *job, const ActordEnv *env, const char *path) {
        int status;

        job->contexts[0].env = env;
        job->contexts[0].plugin_path = path;
        status = actor_status(actor_start(job, true));
        g_assert_true(WIFEXITED(status));
        g_assert_cmpint(WEXITSTATUS(status), ==, EXIT_ENVIRONMENT_LOAD);
}

static void test_does_not_load(void) {
        ActordEnv older = toy_env, holed = toy_env;
        Job job;

        toy_plan = (ToyPlan){ .length_min = 3, .length_max = 9 };
        job_new_shared(&job, &toy_env);
        older.abi = ACTORD_ENV_ABI + 1;
        holed.step = NULL;
        assert_does_not_load(&job, NULL, NULL);
        assert_does_not_load(&job, NULL, "/nonexistent.so");
        assert_does_not_load(&job, NULL, "/proc/self/exe");
        assert_does_not_load(&job, NULL, "libm.so.6");
        assert_does_not_load(&job, &older, NULL);
        assert_does_not_load(&job, &holed, NULL);
        job.contexts[0].env = &toy_env;
        job_done_shared(&job);
}

/* An actor answers a probe (it tells the environment's spec) before the page of layouts exists. A rollout is
 * refused. */
static void test_probe_without_page(void) {
        Answer answer;
        Job job;
        pid_t pid;

        toy_plan = (ToyPlan){ .length_min = 3, .length_max = 9 };
        job_new_shared(&job, &toy_env);
        job.contexts[0].page = NULL;
        pid = actor_start(&job, false);
        answer = actor_order(&job, (Order){ .kind = ORDER_PROBE });
        g_assert_cmpuint(answer.fault, ==, FAULT_NONE);
        answer = actor_order(&job, (Order){ .kind = ORDER_ROLLOUT });
        g_assert_cmpuint(answer.fault, ==, FAULT_INTERNAL);
        turn_order(&job.worker->turn, &(Order){ .kind = ORDER_END }, true);
        g_assert_cmpint(actor_status(pid), ==, 0);
        job.contexts[0].page = &job.page;
        job_done_shared(&job);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);

        g_test_add_func("/actor/orders", test_orders);
        g_test_add_func("/actor/killed", test_killed);
        g_test_add_func("/actor/abort", test_abort);
        g_test_add_func("/actor/does-not-load", test_does_not_load);
        g_test_add_func("/actor/probe-without-page", test_probe_without_page);

        return g_test_run();
}
