/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Evaluations of a job that trains: the rules, and the real invoker with real actors that follow them. The
 * policy is the same with and without evaluations, and an evaluation's result depends on the policy alone.
 */
#include <fcntl.h>

#include "invoker/evaluation-rules.h"
#include "lib/boottime.h"
#include "lib/slot.h"
#include "tests/unit/invoker-fixture.h"

#define CARTPOLE                                                                                 \
        "[Job]\nEnvironment=CartPole-v1\nStopSteps=2560\nSeed=3\n[Scaling]\nActors=4\n[Actor]\n" \
        "EnvsPerActor=2\n"                                                                       \
        "RolloutSteps=32\nMemoryMax=512M\n[Learner]\nMinibatchSize=64\nEpochs=2\n"

static void test_due(void) {
        JobSettings settings = { .evaluation_episodes = 20, .evaluation_every = 4 };

        for (uint64_t round = 0; round < 13; round++)
                g_assert_cmpint(evaluation_is_due(&settings, round, false), ==,
                                round == 4 || round == 8 || round == 12);
        g_assert_true(evaluation_is_due(&settings, 5, true));
        settings.evaluation_episodes = 0;
        g_assert_false(evaluation_is_due(&settings, 4, false));
        g_assert_false(evaluation_is_due(&settings, 5, true));
}

/* An evaluation is played beside the next round only if nothing depends on its result. The last evaluation
 * of a job never is. */
static void test_beside(void) {
        static const struct {
                const char *text;
                bool beside;
        } rows[] = {
                { "", true },
                { "[Scaling]\nPolicy=auto\nMaxActors=8\n", true },
                { "[Scaling]\nPolicy=nitro\nMaxActors=8\n", true },
                { "[Job]\nStopReturn=100\n", true },
                { "[Scaling]\nPolicy=adapt\nMaxActors=8\nTargetReturn=200\n", false },
                { "[Job]\nBudget=0.5\n", false },
                { "[Evaluation]\nStopReturn=100\n", false },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autofree char *text = g_strconcat(
                                                CARTPOLE, "[Evaluation]\nEpisodes=6\n", rows[i].text, NULL),
                                *message = NULL;
                JobSettings settings;

                if (settings_parse(text, "test.conf", NULL, 0, NULL, &settings, &message) < 0)
                        g_error("%s", message);
                g_assert_cmpint(evaluation_is_beside(&settings, false), ==, rows[i].beside);
                g_assert_false(evaluation_is_beside(&settings, true));
        }
}

static void test_possible(void) {
        Answer answer = { .n_steps = 500, .episode_return = -3 };

        g_assert_true(evaluation_is_possible(&answer, 500));
        g_assert_true(evaluation_is_possible(&answer, 0));
        g_assert_false(evaluation_is_possible(&answer, 499));
        answer.episode_return = NAN;
        g_assert_false(evaluation_is_possible(&answer, 500));
        answer.episode_return = INFINITY;
        g_assert_false(evaluation_is_possible(&answer, 500));
        answer = (Answer){ .n_steps = 0 };
        g_assert_false(evaluation_is_possible(&answer, 500));
        answer.n_steps = (uint64_t) HORIZON_STEPS_MAX + 1;
        g_assert_false(evaluation_is_possible(&answer, 0));
}

static void test_summary(void) {
        double returns[] = { 10, 20, 60 }, mean, sd;

        evaluation_summarise(returns, 3, &mean, &sd);
        g_assert_cmpfloat(mean, ==, 30);
        g_assert_cmpfloat_with_epsilon(sd, sqrt(700), 1e-12);
        evaluation_summarise(returns, 1, &mean, &sd);
        g_assert_cmpfloat(mean, ==, 10);
        g_assert_true(isnan(sd));
        evaluation_summarise(returns, 0, &mean, &sd);
        g_assert_true(isnan(mean) && isnan(sd));
}

static void test_metrics(void) {
        const double some[] = { 10, NAN, 50 }, none[] = { NAN, NAN };
        Answer answer = { .metrics = { 1, NAN, INFINITY } };

        g_assert_cmpfloat(evaluation_metric_mean(some, 3), ==, 30);
        g_assert_true(isnan(evaluation_metric_mean(none, 2)));
        g_assert_cmpuint(evaluation_impossible_metric(&answer, 2), ==, 0);
        g_assert_cmpuint(evaluation_impossible_metric(&answer, 3), ==, 3);
        answer.metrics[0] = -INFINITY;
        g_assert_cmpuint(evaluation_impossible_metric(&answer, 3), ==, 1);
}

/* Checks an episode of the round, by an actor numbered beyond those that train. Returns the episode's
 * return. */
static double check_episode(const Record *r, uint64_t round, unsigned n_episodes, uint32_t n_evaluators) {
        g_assert_cmpuint(r->round, ==, round);
        g_assert_cmpuint(r->actor, >=, 4);
        g_assert_cmpuint(r->actor, <, 4 + n_evaluators);
        g_assert_cmpuint(r->ordinal, <, n_episodes);
        g_assert_cmpuint(r->metered.n_steps, >, 0);
        g_assert_cmpuint(r->statistics.policy_version, ==, round);
        return r->statistics.evaluation_mean;
}

/* A round closes with the mean return of its evaluation. If the evaluation was played beside the next round,
 * the round closes without the mean. Then a record of kind EVALUATED adds the mean before another round
 * closes and before a checkpoint is written. */
static void check_rounds(const Job *job, uint64_t every, unsigned n_episodes, uint32_t n_evaluators,
                bool beside, double ret_means[11]) {
        const Record *open = NULL; /* a round that has closed without the mean of its evaluation */
        uint64_t round = 1;
        double sum = 0;
        unsigned n = 0;

        for (size_t i = 0; i < job->n_records; i++) {
                const Record *r = &job->records[i];
                bool due = round % every == 0 || round == 10;

                if (r->kind == RECORD_EVALUATION && !r->wasted) {
                        sum += check_episode(r, round, n_episodes, n_evaluators);
                        n++;
                }
                if (r->kind == RECORD_CHECKPOINT)
                        g_assert_null(open);
                if (r->kind == RECORD_ROUND && beside && due && round < 10) {
                        g_assert_null(open);
                        g_assert_cmpuint(r->round, ==, round);
                        g_assert_cmpuint(n, ==, 0);
                        g_assert_true(isnan(r->statistics.evaluation_mean));
                        open = r;
                        continue;
                }
                if (r->kind != RECORD_ROUND && r->kind != RECORD_EVALUATED)
                        continue;
                g_assert_cmpuint(r->kind, ==, open ? RECORD_EVALUATED : RECORD_ROUND);
                g_assert_cmpuint(r->round, ==, round);
                if (open)
                        g_assert_cmpuint(r->ordinal, ==, open->seq);
                g_assert_cmpuint(n, ==, due ? n_episodes : 0);
                if (n > 0)
                        g_assert_cmpfloat_with_epsilon(
                                        r->statistics.evaluation_mean, sum / n, 1e-9 * fabs(sum));
                g_assert_true(n == 0 ? isnan(r->statistics.evaluation_mean)
                                     : r->statistics.evaluation_sd >= 0);
                ret_means[round++] = r->statistics.evaluation_mean;
                open = NULL;
                sum = n = 0;
        }
        g_assert_cmpuint(round, ==, 11);
}

/* Kills the actor that plays: the invoker's newest child. */
static bool kill_the_last(pid_t invoker) {
        g_autofree char *path = g_strdup_printf("/proc/%d/task/%d/children", (int) invoker, (int) invoker),
                        *children = NULL;
        g_auto(GStrv) pids = NULL;

        if (!g_file_get_contents(path, &children, NULL, NULL))
                return false;
        pids = g_strsplit(g_strstrip(children), " ", -1);
        return g_strv_length(pids) > 1 && kill(atoi(pids[g_strv_length(pids) - 1]), SIGKILL) == 0;
}

static const Record *run_with(Job *job, const char *more, bool kills) {
        g_autofree char *text = g_strconcat(CARTPOLE, more, NULL);
        const Record *ended;

        job_init(job, SANDBOX_LEVEL_PROCESS, text);
        g_assert_true(job_start(job));
        (void) job_connect(job);
        for (uint64_t round = 1; kills && round < 10; round++) {
                job->plan.through_round = round;
                job_send_plan(job);
                while (job_read(job), job_count(job, RECORD_ROUND, false) < round)
                        g_assert_true(job_wait(job));
                g_assert_true(kill_the_last(job->pid));
        }
        job->plan.through_round = 1000;
        ended = job_finish(job);
        job_print_log(job);
        g_assert_cmpuint(ended->end, ==, PLAN_END_FINISHED);
        g_assert_cmpuint(ended->round, ==, 10);
        return ended;
}

static void test_train(void) {
        static const struct {
                const char *text;
                uint64_t every;
                uint32_t n_evaluators;
                bool kills, beside;
        } rows[] = {
                { "[Evaluation]\nEpisodes=6\nStopReturn=1000\n", 1, 1, false, false },
                { "[Evaluation]\nEpisodes=6\n", 1, 1, false, true },
                { "[Evaluation]\nEpisodes=6\nActors=3\n[Checkpoint]\nIntervalSec=0\n", 1, 3, false, true },
                { "[Evaluation]\nEpisodes=6\nActors=9\n[Actor]\nProcesses=2\n", 1, 6, false, true },
                { "[Evaluation]\nEpisodes=6\nEveryRounds=4\n[Scaling]\nWarmActors=0\n", 4, 1, false, true },
                { "[Evaluation]\nEpisodes=6\nActors=2\nStopReturn=1000\n", 1, 2, true, false },
                { "[Evaluation]\nEpisodes=6\nActors=2\n", 1, 2, true, true },
        };
        double means[11], again[11];
        uint8_t policy[32];
        Job job;

        memcpy(policy, run_with(&job, "", false)->sha256, sizeof(policy));
        g_assert_cmpuint(job_count(&job, RECORD_EVALUATION, false), ==, 0);
        job_done(&job);
        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                const Record *ended = run_with(&job, rows[i].text, rows[i].kills);

                g_assert_cmpmem(ended->sha256, sizeof(policy), policy, sizeof(policy));
                check_rounds(&job, rows[i].every, 6, rows[i].n_evaluators, rows[i].beside,
                                i == 0 ? means : again);
                if (i > 0 && rows[i].every == 1)
                        g_assert_cmpmem(again + 1, 10 * sizeof(double), means + 1, 10 * sizeof(double));
                else if (i > 0)
                        g_assert_cmpfloat(again[8], ==, means[8]);
                g_assert_cmpint(job_count(&job, RECORD_POOL, false) > 0, ==, rows[i].every == 1);
                job_done(&job);
        }
}

#define HOSTILE                                                                                 \
        "[Job]\nEnvironment=./hostile.so\nStopSteps=100\n[Actor]\nRolloutSteps=10\nRetries=1\n" \
        "Carry=reset\n[Learner]\nMinibatchSize=10\nEpochs=1\n[Evaluation]\nEpisodes=2\n[Environment]\n"

/* An update that takes longer than an evaluation beside it. */
#define LONG_UPDATE "\n[Learner]\nHiddenLayers=256 256\nEpochs=200\n"

/* The plugin misbehaves only after the rollouts, in evaluations. */
static bool hostile_init(Job *job, const char *how, bool beside) {
        g_autofree char *text = g_strconcat(HOSTILE, "How=", how,
                        beside ? LONG_UPDATE : "\n[Evaluation]\nStopReturn=1000\n", NULL);

        if (!job_init_hostile(job, SANDBOX_LEVEL_PROCESS, text))
                return false;
        g_assert_true(job_start(job));
        return true;
}

/* Checks a job whose evaluation failed: n_least to n_most rounds have closed, none has the evaluation's
 * result, and the checkpoint is of the last closed round. */
static void check_closed(const Job *job, uint64_t n_least, uint64_t n_most) {
        uint64_t n = job_count(job, RECORD_ROUND, false);

        g_assert_cmpuint(n, >=, n_least);
        g_assert_cmpuint(n, <=, n_most);
        for (size_t i = 0; i < job->n_records; i++)
                if (job->records[i].kind == RECORD_ROUND)
                        g_assert_true(isnan(job->records[i].statistics.evaluation_mean));
        g_assert_cmpuint(job_count(job, RECORD_CHECKPOINT, false), ==, 1);
        g_assert_cmpuint(job_find(job, RECORD_CHECKPOINT)->round, ==, n);
        g_assert_cmpuint(job_count(job, RECORD_EVALUATION, false), ==, 0);
        g_assert_cmpuint(job_count(job, RECORD_EVALUATED, false), ==, 0);
}

static void test_hostile(void) {
        static const struct {
                const char *how;
                uint32_t fault;
        } rows[] = { { "reward", FAULT_ANSWER }, { "crash", FAULT_KILLED }, { "error", FAULT_ENVIRONMENT } };

        for (size_t i = 0; i < 2 * G_N_ELEMENTS(rows); i++) {
                bool beside = i % 2 > 0;
                const Record *ended;
                Job job;

                if (!hostile_init(&job, rows[i / 2].how, beside))
                        return;
                ended = job_run(&job);
                g_assert_cmpuint(ended->end, ==, PLAN_END_FAILED);
                g_assert_cmpuint(ended->fault, ==, rows[i / 2].fault);
                g_assert_cmpuint(ended->actor, ==, 1);
                g_assert_cmpuint(job_count(&job, RECORD_EVALUATION, true), ==, 2);
                check_closed(&job, 1, beside ? 2 : 1);
                job_done(&job);
        }
}

/* Stops a job while its evaluation hangs: at the stop's deadline the job ends. If the evaluation is played
 * beside the next round, the learner learns from this round, but the round waits for the evaluation before
 * it closes. */
static void cut_short(bool beside) {
        unsigned n_open = beside ? 2 : 1; /* the number of the round that waits */
        const Record *ended;
        Job job;

        if (!hostile_init(&job, "hang", beside))
                return;
        (void) job_connect(&job);
        job_send_plan(&job);
        while (job_read(&job), job_count(&job, RECORD_UPDATE, false) < n_open)
                g_assert_true(job_wait(&job));
        g_usleep(50000);
        (void) job_read(&job);
        g_assert_cmpuint(job_count(&job, RECORD_ROUND, false), ==, n_open - 1);

        job.plan.end = PLAN_END_INTERRUPTED;
        job.plan.stop_deadline_nsec = clock_boottime();
        ended = job_finish(&job);
        g_assert_cmpuint(ended->end, ==, PLAN_END_INTERRUPTED);
        g_assert_cmpuint(job_find(&job, RECORD_ROUND)->end, ==,
                        beside ? (unsigned) PLAN_END_NOT : (unsigned) PLAN_END_INTERRUPTED);
        g_assert_cmpuint(job_count(&job, RECORD_EVALUATION, true), ==, 1);
        g_assert_cmpuint(job_find(&job, RECORD_EVALUATION)->round, ==, 1);
        check_closed(&job, n_open, n_open);
        job_done(&job);
}

static void test_cut_short(void) {
        cut_short(false);
        cut_short(true);
}

/* A requested checkpoint waits for the evaluation to end. The end of the job waits, too, up to a limit. */
static void test_cut_idle(void) {
        const Record *ended;
        Job job;

        if (!hostile_init(&job, "hang", true))
                return;
        (void) job_connect(&job);
        job.plan.through_round = 1;
        job.plan.checkpoint = 1;
        job_send_plan(&job);
        while (job_read(&job), job_count(&job, RECORD_ROUND, false) < 1)
                g_assert_true(job_wait(&job));
        for (unsigned i = 0; i < 2; i++) {
                g_usleep(100000);
                g_assert_false(job_read(&job));
                g_assert_cmpuint(job_count(&job, RECORD_CHECKPOINT, false), ==, 0);
                job.plan.checkpoint = 0;
                job.plan.end = PLAN_END_INTERRUPTED;
                job_send_plan(&job);
        }

        job.plan.stop_deadline_nsec = clock_boottime();
        ended = job_finish(&job);
        g_assert_cmpuint(ended->end, ==, PLAN_END_INTERRUPTED);
        g_assert_cmpuint(job_count(&job, RECORD_EVALUATION, true), ==, 1);
        check_closed(&job, 1, 1);
        job_done(&job);
}

static bool leaf_is_frozen(const Job *job) {
        g_autofree char *path = g_build_filename(job->cgroup, "evaluation-4", "cgroup.events", NULL),
                        *text = NULL;

        for (unsigned i = 0; i < WAIT_MSEC; i++) {
                g_clear_pointer(&text, g_free);
                if (g_file_get_contents(path, &text, NULL, NULL) && strstr(text, "frozen 1"))
                        return true;
                g_usleep(1000);
        }
        return false;
}

/* Between two evaluations the container that plays them is frozen in a leaf of its own, and this provision
 * is on the bill. */
static void test_leaf(void) {
        g_autofree char *text = g_strconcat(CARTPOLE, "[Evaluation]\nEpisodes=2\n", NULL);
        const Record *ended;
        Job job;

        job_init(&job, SANDBOX_LEVEL_PROCESS, text);
        job_make_cgroup(&job);
        if (!job.cgroup) {
                job_done(&job);
                g_test_skip("no cgroup is available here");
                return;
        }
        g_assert_true(job_start(&job));
        (void) job_connect(&job);
        job.plan.through_round = 1;
        job_send_plan(&job);
        while (job_read(&job), job_count(&job, RECORD_EVALUATED, false) < 1)
                g_assert_true(job_wait(&job));
        g_assert_true(leaf_is_frozen(&job));
        job.plan.through_round = 1000;
        ended = job_finish(&job);
        g_assert_cmpuint(ended->end, ==, PLAN_END_FINISHED);
        g_assert_cmpuint(job_count(&job, RECORD_POOL, false), >=, 10);
        g_assert_cmpuint(job_find(&job, RECORD_POOL)->actor, ==, 4);
        job_done(&job);
}

static uint64_t first_reached(const Job *job, double mean) {
        for (size_t i = 0; i < job->n_records; i++)
                if (job->records[i].kind == RECORD_ROUND &&
                                job->records[i].statistics.evaluation_mean >= mean)
                        return job->records[i].round;
        return 0;
}

/* The job ends when its evaluations reach StopReturn=. A next life, which begins at the checkpoint, ends
 * after another evaluation, since the checkpoint does not say that the target was reached. */
static void test_target(void) {
        g_autofree char *text = g_strconcat(CARTPOLE, "[Evaluation]\nEpisodes=6\nStopReturn=20\n", NULL),
                        *path = NULL;
        const Record *ended;
        uint64_t round;
        Job first, second;

        job_init(&first, SANDBOX_LEVEL_PROCESS, text);
        g_assert_true(job_start(&first));
        ended = job_run(&first);
        round = first_reached(&first, 20);
        g_assert_cmpuint(round, >, 0);
        g_assert_cmpuint(ended->end, ==, PLAN_END_TARGET);
        g_assert_cmpuint(ended->round, ==, round);

        job_init(&second, SANDBOX_LEVEL_PROCESS, text);
        path = g_strdup_printf("%s/" CHECKPOINT_NAME, first.directory, round);
        second.checkpoint_fd = open(path, O_RDONLY | O_CLOEXEC);
        second.invoked.launch.has_checkpoint = 1;
        second.invoked.launch.resume_round = round;
        second.invoked.launch.life = 2;
        g_assert_true(job_start(&second));
        ended = job_run(&second);
        g_assert_cmpuint(ended->end, ==, PLAN_END_TARGET);
        g_assert_cmpuint(job_count(&second, RECORD_ROUND, false), ==, 0);
        g_assert_cmpuint(job_count(&second, RECORD_EVALUATION, false), ==, 6);
        g_assert_cmpuint(job_find(&second, RECORD_EVALUATION)->round, ==, round);
        g_assert_cmpmem(ended->sha256, 32, first.records[first.n_records - 1].sha256, 32);
        job_done(&first);
        job_done(&second);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/evaluate/due", test_due);
        g_test_add_func("/evaluate/beside", test_beside);
        g_test_add_func("/evaluate/possible", test_possible);
        g_test_add_func("/evaluate/summary", test_summary);
        g_test_add_func("/evaluate/metrics", test_metrics);
#ifndef __SANITIZE_THREAD__
        /* ThreadSanitizer runs a thread of its own, so the process has several threads when it forks, and
         * our sandboxes refuse this. */
        if (programs_are_built()) {
                compile_hostile();
                g_test_add_func("/evaluate/train", test_train);
                g_test_add_func("/evaluate/hostile", test_hostile);
                g_test_add_func("/evaluate/cut-short", test_cut_short);
                g_test_add_func("/evaluate/cut-idle", test_cut_idle);
                g_test_add_func("/evaluate/target", test_target);
                g_test_add_func("/evaluate/leaf", test_leaf);
        }
#endif
        return job_tests_run();
}
