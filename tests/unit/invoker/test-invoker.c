/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The invoker among its neighbours: the test plays spawner and daemon, the learner and the actors are the
 * real ones. Each story runs a small CartPole job, or a plugin that misbehaves, and reads its records. */
#include <fcntl.h>

#include "lib/boottime.h"
#include "lib/cleanup.h"
#include "tests/unit/invoker-fixture.h"

#define CARTPOLE                                                                                 \
        "[Job]\nEnvironment=CartPole-v1\nStopSteps=2560\nSeed=3\n[Scaling]\nActors=4\n[Actor]\n" \
        "EnvsPerActor=2\n"                                                                       \
        "RolloutSteps=32\nMemoryMax=512M\n[Learner]\nMinibatchSize=64\nEpochs=2\n"

/* The job has trained for 10 rounds of 256 steps. */
static void check_training(const Job *job, const Record *ended) {
        uint64_t cpu = 0;

        g_assert_cmpuint(ended->end, ==, PLAN_END_FINISHED);
        g_assert_cmpuint(ended->fault, ==, FAULT_NONE);
        g_assert_cmpuint(ended->round, ==, 10);
        g_assert_cmpuint(ended->statistics.n_env_steps, ==, 2560);
        g_assert_cmpuint(job_count(job, RECORD_ROUND, false), ==, 10);
        g_assert_cmpuint(job_count(job, RECORD_UPDATE, false), ==, 10);
        g_assert_cmpuint(job_count(job, RECORD_ROLLOUT, false), ==, 40);
        g_assert_cmpuint(job_count(job, RECORD_CHECKPOINT, false), ==, 1);
        g_assert_cmpint(job->status, ==, 0);

        for (size_t i = 0; i < job->n_records; i++) {
                const Record *r = &job->records[i];

                cpu += r->metered.cpu_nsec;
                g_assert_cmpuint(r->life, ==, 1);
                g_assert_cmpuint(r->metered.start_nsec, <=, r->metered.end_nsec);
                if (r->kind == RECORD_ROLLOUT) {
                        g_assert_cmpuint(r->metered.n_steps, ==, 64);
                        g_assert_cmpuint(r->metered.memory_reserved_bytes, ==, 512ull << 20);
                        g_assert_cmpuint(r->ordinal, ==, r->round - 1);
                        g_assert_cmpuint(r->metered.emulated_nsec, >=, r->metered.cpu_nsec);
                }
        }
        g_assert_cmpuint(cpu, >, 0);
        if (ended->scope_cpu_nsec > 0) {
                double off = fabs((double) cpu - (double) ended->scope_cpu_nsec) /
                             (double) ended->scope_cpu_nsec;

                g_test_message("usage: %.3f ms in records, %.3f ms in the cgroup, %.2f %% apart",
                                (double) cpu / 1e6, (double) ended->scope_cpu_nsec / 1e6, off * 100);
                /* For a job of a few milliseconds the difference would be larger: the kernel counts a
                 * process that ends between two ticks in whole ticks. */
                g_assert_cmpfloat(off, <, 0.05);
        }
}

static uint8_t reference[32];
static bool has_reference;

/* The same job gives the same policy, with any number of processes and threads. */
static void check_policy(const Record *ended) {
        if (!has_reference)
                memcpy(reference, ended->sha256, sizeof(reference));
        has_reference = true;
        g_assert_cmpmem(reference, sizeof(reference), ended->sha256, sizeof(ended->sha256));
}

static void test_train(gconstpointer data) {
        static const char *const processes[] = { "", "[Actor]\nProcesses=1\n", "[Actor]\nProcesses=3\n" };
        uint32_t level = GPOINTER_TO_UINT(data);

        for (size_t i = 0; i < G_N_ELEMENTS(processes); i++) {
                g_autofree char *text = g_strconcat(CARTPOLE, processes[i], NULL);
                const Record *ended;
                Job job;

                job_init(&job, level, text);
                job_make_cgroup(&job);
                if (!job_start_or_skip(&job))
                        return;
                ended = job_run(&job);
                check_training(&job, ended);
                check_policy(ended);
                g_assert_cmpuint(job_find(&job, RECORD_STARTED)->level, ==, level);
                job_done(&job);
        }
}

/* Kills one actor of the job: the first child of the invoker whose name begins with actord-actor. */
static bool kill_an_actor(pid_t invoker) {
        g_autofree char *path = g_strdup_printf("/proc/%d/task/%d/children", (int) invoker, (int) invoker),
                        *children = NULL;
        g_auto(GStrv) pids = NULL;

        if (!g_file_get_contents(path, &children, NULL, NULL))
                return false;
        pids = g_strsplit(children, " ", -1);
        for (size_t i = 0; pids[i]; i++) {
                g_autofree char *comm_path = g_strdup_printf("/proc/%s/comm", pids[i]), *comm = NULL;

                if (g_file_get_contents(comm_path, &comm, NULL, NULL) &&
                                g_str_has_prefix(comm, "actord-actor"))
                        return kill(atoi(pids[i]), SIGKILL) == 0;
        }
        return false;
}

/* Actors are killed while they work. The policy is the same, and each kill has a RECORD_FAULT. */
static void test_killed(gconstpointer data) {
        uint32_t level = GPOINTER_TO_UINT(data);
        unsigned n_kills = 0;
        const Record *ended;
        Job job;

        job_init(&job, level, CARTPOLE);
        if (!job_start_or_skip(&job))
                return;
        (void) job_connect(&job);
        for (uint64_t round = 1; round < 10; round++) {
                job.plan.through_round = round;
                job_send_plan(&job);
                while (job_read(&job), job_count(&job, RECORD_ROUND, false) < round)
                        g_assert_true(job_wait(&job));
                n_kills += kill_an_actor(job.pid);
        }
        job.plan.through_round = 1000;
        ended = job_finish(&job);
        job_print_log(&job);
        g_assert_cmpuint(n_kills, >, 0);
        g_assert_cmpuint(job_count(&job, RECORD_FAULT, false), ==, n_kills);
        check_training(&job, ended);
        check_policy(ended);
        job_done(&job);
}

/* A life that begins at a checkpoint in the middle comes to the same policy. */
static void test_next_life(void) {
        g_autofree char *path = NULL;
        const Record *ended;
        Job first, second;

        job_init(&first, SANDBOX_LEVEL_PROCESS, CARTPOLE);
        g_assert_true(job_start(&first));
        (void) job_connect(&first);
        first.plan.through_round = 4;
        job_send_plan(&first);
        while (job_read(&first), job_count(&first, RECORD_ROUND, false) < 4)
                g_assert_true(job_wait(&first));
        first.plan.end = PLAN_END_INTERRUPTED;
        ended = job_finish(&first);
        g_assert_cmpuint(ended->end, ==, PLAN_END_INTERRUPTED);
        g_assert_cmpuint(job_count(&first, RECORD_CHECKPOINT, false), ==, 1);

        job_init(&second, SANDBOX_LEVEL_PROCESS, CARTPOLE);
        path = g_strdup_printf("%s/" CHECKPOINT_NAME, first.directory, (uint64_t) 4);
        second.checkpoint_fd = open(path, O_RDONLY | O_CLOEXEC);
        g_assert_cmpint(second.checkpoint_fd, >=, 0);
        second.invoked.launch.has_checkpoint = 1;
        second.invoked.launch.resume_round = 4;
        second.invoked.launch.life = 2;
        g_assert_true(job_start(&second));
        ended = job_run(&second);
        g_assert_cmpuint(ended->end, ==, PLAN_END_FINISHED);
        g_assert_cmpuint(ended->life, ==, 2);
        g_assert_cmpuint(job_count(&second, RECORD_ROUND, false), ==, 6);
        check_policy(ended);
        job_done(&first);
        job_done(&second);
}

static void test_evaluate(void) {
        g_autofree char *path = NULL;
        const Record *ended;
        Job train, evaluate;
        uint64_t seen = 0;

        job_init(&train, SANDBOX_LEVEL_PROCESS, CARTPOLE);
        g_assert_true(job_start(&train));
        (void) job_run(&train);

        job_init(&evaluate, SANDBOX_LEVEL_PROCESS, CARTPOLE);
        path = g_strdup_printf("%s/" CHECKPOINT_NAME, train.directory, (uint64_t) 10);
        evaluate.checkpoint_fd = open(path, O_RDONLY | O_CLOEXEC);
        evaluate.invoked.launch.has_checkpoint = 1;
        evaluate.invoked.launch.resume_round = 10;
        evaluate.invoked.launch.purpose = LAUNCH_EVALUATE;
        evaluate.invoked.launch.n_episodes = 6;
        g_assert_true(job_start(&evaluate));
        ended = job_run(&evaluate);
        g_assert_cmpuint(ended->end, ==, PLAN_END_FINISHED);
        g_assert_cmpuint(job_count(&evaluate, RECORD_EVALUATION, false), ==, 6);
        for (size_t i = 0; i < evaluate.n_records; i++)
                if (evaluate.records[i].kind == RECORD_EVALUATION) {
                        seen |= 1u << evaluate.records[i].ordinal;
                        g_assert_cmpfloat(evaluate.records[i].statistics.evaluation_mean, ==,
                                        (double) evaluate.records[i].metered.n_steps);
                }
        g_assert_cmpuint(seen, ==, 0x3f);
        job_done(&train);
        job_done(&evaluate);
}

static void test_verify(void) {
        const Record *ended;
        Job job;

        job_init(&job, SANDBOX_LEVEL_PROCESS, CARTPOLE);
        job.invoked.launch.purpose = LAUNCH_VERIFY;
        g_assert_true(job_start(&job));
        ended = job_run(&job);
        g_assert_cmpuint(ended->end, ==, PLAN_END_FINISHED);
        g_assert_cmpuint(job_count(&job, RECORD_STARTED, false), ==, 1);
        g_assert_cmpuint(job_count(&job, RECORD_WORKER, false), ==, 1);
        job_done(&job);
}

/* Waits until n rounds have closed: RECORD_ROUND is the last record of a round. */
static void wait_for_rounds(Job *job, uint64_t n) {
        for (unsigned i = 0; i < WAIT_MSEC && (job_read(job), job_count(job, RECORD_ROUND, false) < n); i++)
                g_usleep(1000);
}

/* While the daemon is away, the invoker goes on with its lease. When the daemon is back, it finds all
 * records that it has not read. */
static void test_reconnect(void) {
        const Record *ended;
        Hello hello;
        Job job;

        job_init(&job, SANDBOX_LEVEL_PROCESS, CARTPOLE);
        job.invoked.launch.exit_with_daemon = 0;
        g_assert_true(job_start(&job));
        (void) job_connect(&job);
        job.plan.through_round = 5;
        job_send_plan(&job);
        /* The test closes the link only when a round has closed: by then the invoker has read the plan,
         * which would be lost otherwise. */
        wait_for_rounds(&job, 1);
        job.link = close_fd(job.link);
        wait_for_rounds(&job, 5);
        hello = job_connect(&job);
        g_assert_cmpuint(hello.round, ==, 5);
        g_assert_cmpuint(hello.through_round, ==, 5);
        g_assert_cmpuint(hello.decision.n_actors, ==, 4);
        job.plan.through_round = 1000;
        ended = job_finish(&job);
        check_training(&job, ended);
        check_policy(ended);
        job_done(&job);
}

/* In run mode no process is left when the daemon is gone. */
static void test_alone(void) {
        Job job;

        job_init(&job, SANDBOX_LEVEL_PROCESS, CARTPOLE);
        g_assert_true(job_start(&job));
        (void) job_connect(&job);
        job.link = close_fd(job.link);
        job_reap(&job);
        job_done(&job);
}

static void test_terminated(void) {
        Job job;

        job_init(&job, SANDBOX_LEVEL_PROCESS, CARTPOLE);
        g_assert_true(job_start(&job));
        (void) job_connect(&job);
        job_send_plan(&job);
        g_assert_cmpint(kill(job.pid, SIGTERM), ==, 0);
        job_reap(&job);
        g_assert_true(WIFEXITED(job.status));
        job_done(&job);
}

/* A job pauses when the daemon does not read its records, and goes on when the daemon has read them. */
static void test_full_spool(void) {
        const Record *ended;
        uint64_t written;
        Job job;

        job_init(&job, SANDBOX_LEVEL_PROCESS,
                        "[Job]\nEnvironment=CartPole-v1\nStopSteps=6400\n[Actor]\nRolloutSteps=4\n"
                        "[Learner]\nMinibatchSize=4\nEpochs=1\n");
        job.greedy = false;
        g_assert_true(job_start(&job));
        (void) job_connect(&job);
        job_send_plan(&job);
        for (unsigned i = 0; i < WAIT_MSEC && atomic_load(&job.spool->written) < SPOOL_RECORDS; i++)
                g_usleep(1000);
        g_usleep(200000); /* time in which a job that did not pause would write more */
        written = atomic_load(&job.spool->written);
        g_assert_cmpuint(written, ==, SPOOL_RECORDS);

        job.greedy = true;
        (void) job_read(&job);
        job.plan.acknowledged = job.position;
        ended = job_finish(&job);
        g_assert_cmpuint(ended->end, ==, PLAN_END_FINISHED);
        g_assert_cmpuint(job_count(&job, RECORD_ROUND, false), ==, 1600);
        job_done(&job);
}

#define ROUNDS                                                                                         \
        "[Job]\nEnvironment=CartPole-v1\nStopSteps=100000\nSeed=3\n[Scaling]\nActors=4\nMinActors=1\n" \
        "[Actor]\nRolloutSteps=16\n[Learner]\nMinibatchSize=16\nEpochs=1\n"

static unsigned count_cold(const Job *job) {
        unsigned n = 0;

        for (size_t i = 0; i < job->n_records; i++)
                n += job->records[i].kind == RECORD_ROLLOUT && job->records[i].cold;
        return n;
}

static uint64_t round_nsec(const Job *job, uint64_t number) {
        for (size_t i = 0; i < job->n_records; i++)
                if (job->records[i].kind == RECORD_ROUND && job->records[i].round == number)
                        return job->records[i].emulated_round_nsec;
        g_assert_not_reached();
}

static uint64_t idle_nsec(const Job *job) {
        uint64_t sum = 0;

        for (size_t i = 0; i < job->n_records; i++)
                if (job->records[i].kind == RECORD_POOL)
                        sum += job->records[i].metered.emulated_nsec;
        return sum;
}

/* Rounds of 4, 1, 3 and 4 actors. The keys say whether an actor that a round does not need is frozen or
 * ended. A frozen actor is billed as provisioned for the time of the rounds on a fleet, and goes on when it
 * is needed; an ended one starts cold. The policy is the same. Idle time is recorded in each round, and when
 * the actor goes on. */
static void test_pool(gconstpointer data) {
        static const struct {
                const char *keys;
                unsigned n_cold, n_pool, n_parked,
                                n_idle[2]; /* actors that idle in the second and third round */
        } cases[] = { { "", 4, 3 + 2 + 1 + 1, 3, { 3, 1 } },
                { "[Scaling]\nKeepAliveSec=1000\n", 4, 3 + 2 + 1 + 1, 3, { 3, 1 } },
                { "[Scaling]\nWarmActors=1\n", 4 + 1 + 1, 2, 1, { 1, 0 } },
                { "[Scaling]\nWarmActors=0\n", 4 + 2 + 1, 0, 0, { 0, 0 } },
                { "[Scaling]\nKeepAliveSec=0\n", 4 + 2 + 1, 0, 0, { 0, 0 } } };
        uint32_t level = GPOINTER_TO_UINT(data);
        uint8_t policy[32];

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *text = g_strconcat(ROUNDS, cases[i].keys, NULL);
                const Record *ended;
                Job job;

                job_init(&job, level, text);
                job_make_cgroup(&job);
                if (!job_start_or_skip(&job))
                        return;
                (void) job_connect(&job);
                job_round(&job, 1, 4);
                job_round(&job, 2, 1);
                for (unsigned c = 1; job.cgroup && c < 4; c++)
                        if (c <= cases[i].n_parked)
                                g_assert_true(container_becomes_frozen(&job, c));
                        else
                                g_assert_false(container_is_frozen(&job, c));
                job_round(&job, 3, 3);
                job_round(&job, 4, 4);
                job.plan.end = PLAN_END_INTERRUPTED;
                ended = job_finish(&job);
                job_print_log(&job);

                g_assert_cmpuint(ended->end, ==, PLAN_END_INTERRUPTED);
                g_assert_cmpuint(ended->statistics.n_env_steps, ==, 12 * 16);
                g_assert_cmpuint(count_cold(&job), ==, cases[i].n_cold);
                g_assert_cmpuint(job_count(&job, RECORD_POOL, false), ==, cases[i].n_pool);
                g_assert_cmpuint(idle_nsec(&job), ==,
                                cases[i].n_idle[0] * round_nsec(&job, 2) +
                                                cases[i].n_idle[1] * round_nsec(&job, 3));
                if (i == 0)
                        memcpy(policy, ended->sha256, sizeof(policy));
                g_assert_cmpmem(policy, sizeof(policy), ended->sha256, sizeof(ended->sha256));
                job_done(&job);
        }
}

/* A stop does not wait for an actor that hangs: at the deadline its round is waste. */
static void test_deadline(void) {
        const Record *ended;
        uint64_t before;
        Job job;

        if (!job_init_hostile(&job, SANDBOX_LEVEL_PROCESS,
                            "[Job]\nEnvironment=./hostile.so\n[Environment]\nHow=hang\n[Actor]\n"
                            "RolloutSteps=16\n[Learner]\nMinibatchSize=16\n"))
                return;
        g_assert_true(job_start(&job));
        (void) job_connect(&job);
        job_round(&job, 1, 1);
        before = actors_cpu_nsec(&job);
        job.plan.through_round = 2;
        job_send_plan(&job);
        wait_until_it_hangs(&job, before);
        job.plan.end = PLAN_END_INTERRUPTED;
        job.plan.stop_deadline_nsec = clock_boottime() + 100000000;
        ended = job_finish(&job);
        g_assert_cmpuint(ended->end, ==, PLAN_END_INTERRUPTED);
        g_assert_cmpuint(ended->round, ==, 1);
        g_assert_cmpuint(job_count(&job, RECORD_ROLLOUT, true), ==, 1);
        g_assert_cmpuint(job_count(&job, RECORD_CHECKPOINT, false), ==, 1);
        g_assert_cmpuint(job_count(&job, RECORD_FAULT, false), ==, 0);
        job_done(&job);
}

/* A plugin hangs when it is asked for its spec. A stop, the loss of the daemon and a SIGTERM end the job
 * before the plugin's deadline, and the CPU time of the plugin's process has a record. */
static void test_stalled(void) {
        enum { STOP, DAEMON_GOES, TERMINATED, N_WAYS };

        for (unsigned way = 0; way < N_WAYS; way++) {
                uint64_t begin;
                Job job;

                if (!job_init_hostile(&job, SANDBOX_LEVEL_PROCESS,
                                    "[Job]\nEnvironment=./hostile.so\n[Environment]\nHow=stall\n[Actor]\n"
                                    "TimeoutSec=120\n"))
                        return;
                g_assert_true(job_start(&job));
                (void) job_connect(&job);
                job_send_plan(&job);
                wait_until_it_hangs(&job, 0);

                begin = clock_boottime();
                if (way == STOP) {
                        const Record *ended;

                        job.plan.end = PLAN_END_INTERRUPTED;
                        ended = job_finish(&job);
                        g_assert_cmpuint(ended->end, ==, PLAN_END_INTERRUPTED);
                        g_assert_cmpuint(job_count(&job, RECORD_WORKER, false), ==, 1);
                        g_assert_cmpuint(job_find(&job, RECORD_WORKER)->metered.cpu_nsec, >, 10000000);
                } else {
                        if (way == DAEMON_GOES)
                                job.link = close_fd(job.link);
                        else
                                g_assert_cmpint(kill(job.pid, SIGTERM), ==, 0);
                        job_reap(&job);
                }
                g_assert_cmpuint(clock_boottime() - begin, <, 60000000000u);
                job_done(&job);
        }
}

/* A learner that dies ends the life; the last record has the reason. */
static void test_learner_killed(void) {
        g_autofree char *children = NULL, *path = NULL;
        g_auto(GStrv) pids = NULL;
        const Record *ended;
        Job job;

        job_init(&job, SANDBOX_LEVEL_PROCESS, ROUNDS);
        g_assert_true(job_start(&job));
        (void) job_connect(&job);
        job_round(&job, 1, 1);
        path = g_strdup_printf("/proc/%d/task/%d/children", (int) job.pid, (int) job.pid);
        g_assert_true(g_file_get_contents(path, &children, NULL, NULL));
        pids = g_strsplit(children, " ", -1);
        g_assert_cmpint(kill(atoi(pids[0]), SIGKILL), ==, 0); /* the learner: it was started first */
        ended = job_finish(&job);
        g_assert_cmpuint(ended->end, ==, PLAN_END_FAILED);
        g_assert_cmpuint(ended->fault, ==, FAULT_KILLED);
        g_assert_cmpuint(ended->actor, ==, UINT32_MAX);
        job_done(&job);
}

/* How a plugin misbehaves, and what the last record of its job says. */
static const struct {
        const char *how;
        uint32_t fault;
} wrongs[] = {
        { "crash", FAULT_KILLED },
        { "abort", FAULT_KILLED },
        { "exit", FAULT_EXITED },
        { "pretend", FAULT_EXITED },
        { "flags", FAULT_SYSCALL },
        { "hang", FAULT_TIMEOUT },
        { "nan", FAULT_OBSERVATION },
        { "range", FAULT_OBSERVATION },
        { "error", FAULT_ENVIRONMENT },
        { "fork", FAULT_SYSCALL },
        { "spec", FAULT_SPEC },
        { "load", FAULT_LOAD },
        { "stall", FAULT_TIMEOUT },
};

static void test_hostile(gconstpointer data) {
        uint32_t level = GPOINTER_TO_UINT(data);

#ifdef ACTORD_SANITIZE
        g_test_skip("a sanitizer reports crashes in its own way, and such a build has no filter");
        return;
#endif
        for (size_t i = 0; i < G_N_ELEMENTS(wrongs); i++) {
                g_autofree char *text = g_strdup_printf(
                                "[Job]\nEnvironment=./hostile.so\n[Environment]\nHow=%s\n[Actor]\n"
                                "RolloutSteps=16\n"
                                "Retries=1\nTimeoutSec=%u\n[Learner]\nMinibatchSize=16\n",
                                wrongs[i].how, wrongs[i].fault == FAULT_TIMEOUT ? 1 : 60);
                const Record *ended;
                Job job;

                if (!job_init_hostile(&job, level, text))
                        return;
                if (!job_start_or_skip(&job))
                        return;
                ended = job_run(&job);
                g_test_message("%s: %s (%d)", wrongs[i].how, fault_to_string(ended->fault), ended->detail);
                g_assert_cmpuint(ended->end, ==, PLAN_END_FAILED);
                g_assert_cmpuint(ended->fault, ==, wrongs[i].fault);
                g_assert_cmpuint(ended->actor, ==, 0);
                if (strcmp(wrongs[i].how, "stall") == 0) {
                        g_assert_cmpuint(job_count(&job, RECORD_WORKER, true), ==, 1);
                        g_assert_cmpuint(job_find(&job, RECORD_WORKER)->metered.cpu_nsec, >, 10000000);
                } else if (wrongs[i].fault != FAULT_SPEC && wrongs[i].fault != FAULT_LOAD) {
                        g_assert_cmpuint(job_count(&job, RECORD_FAULT, false), ==, 2);
                        g_assert_cmpuint(job_count(&job, RECORD_ROLLOUT, true), ==, 2);
                }
                job_done(&job);
        }
}

int main(int argc, char **argv) {
        gpointer process = level_process(), full = level_full();

        if (!job_tests_init(&argc, &argv))
                return 0;

        g_test_add_data_func("/invoker/process/train", process, test_train);
        g_test_add_data_func("/invoker/full/train", full, test_train);
        g_test_add_data_func("/invoker/process/killed", process, test_killed);
        g_test_add_data_func("/invoker/full/killed", full, test_killed);
        g_test_add_func("/invoker/next-life", test_next_life);
        g_test_add_func("/invoker/evaluate", test_evaluate);
        g_test_add_func("/invoker/verify", test_verify);
        g_test_add_func("/invoker/reconnect", test_reconnect);
        g_test_add_func("/invoker/alone", test_alone);
        g_test_add_func("/invoker/terminated", test_terminated);
        g_test_add_func("/invoker/full-spool", test_full_spool);
        g_test_add_data_func("/invoker/process/pool", process, test_pool);
        g_test_add_data_func("/invoker/full/pool", full, test_pool);
        g_test_add_func("/invoker/deadline", test_deadline);
        g_test_add_func("/invoker/stalled", test_stalled);
        g_test_add_func("/invoker/learner-killed", test_learner_killed);
        g_test_add_data_func("/invoker/process/hostile", process, test_hostile);
        g_test_add_data_func("/invoker/full/hostile", full, test_hostile);
        return job_tests_run();
}
