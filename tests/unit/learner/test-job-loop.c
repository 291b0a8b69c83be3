/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compares the loop of a job inside an actor with a job of real processes. The invoker, its sandboxed actors
 * and the learner's program run the same job with the same numbers of actors, and come to the same policy,
 * the same statistics and, with Clock=model, the same times. */
#include "learner/job/loop.h"
#include "tests/unit/invoker-fixture.h"

#include "actor/actor.h"

#define SECTIONS                                                                                        \
        "[Actor]\nEnvsPerActor=2\nRolloutSteps=32\nMemoryMax=512M\n[Billing]\nClock=model\n[Learner]\n" \
        "MinibatchSize=64\nEpochs=2\n"

#define CARTPOLE "[Job]\nEnvironment=CartPole-v1\nSeed=3\n[Scaling]\nActors=2\nMaxActors=4\n" SECTIONS
#define PENDULUM                                                                              \
        "[Job]\nEnvironment=Pendulum-v1\nSeed=5\n[Scaling]\nActors=3\nMaxActors=4\n" SECTIONS \
        "NormalizeObservations=yes\nNormalizeRewards=yes\n"

/* A round of one actor takes some 11 ms. After two such rounds the idle actors still run; after three they
 * have ended. */
#define KEEP CARTPOLE "[Scaling]\nKeepAliveSec=0.02\n"

#define ASYNC                                                                                          \
        "[Job]\nEnvironment=CartPole-v1\nSeed=3\nAlgorithm=impala\n[Scaling]\nActors=2\nMaxActors=4\n" \
        "[Distribution]\nPolicy=async\n[Actor]\nEnvsPerActor=2\nRolloutSteps=32\nMemoryMax=512M\n"     \
        "[Billing]\nClock=model\n[Learner]\nNormalizeObservations=yes\nNormalizeRewards=yes\n"

typedef struct Case {
        const char *name, *text;
        uint32_t counts[10]; /* the number of actors in each round; 0 ends the list */
} Case;

static const Case cases[] = {
        { "cartpole/fixed", CARTPOLE, { 2, 2, 2, 2, 2 } },
        { "cartpole/schedule", CARTPOLE, { 1, 4, 2, 1, 3, 4 } },
        { "cartpole/shared", CARTPOLE "[Actor]\nProcesses=2\n", { 3, 1, 4, 2 } },
        { "cartpole/cold", CARTPOLE "[Scaling]\nWarmActors=1\n", { 4, 1, 3, 4, 1 } },
        { "cartpole/keep-alive", KEEP, { 4, 1, 1, 4, 1, 1, 1, 4 } },
        { "cartpole/one-process-keep-alive", KEEP "[Distribution]\nPolicy=fused\n",
                        { 4, 1, 1, 4, 1, 1, 1, 4 } },
        { "cartpole/one-process", CARTPOLE "[Distribution]\nPolicy=fused\n[Learner]\nThreads=2\n",
                        { 1, 4, 2, 3 } },
        { "cartpole/one-process-cold", CARTPOLE "[Distribution]\nPolicy=fused\n[Scaling]\nWarmActors=1\n",
                        { 4, 1, 3, 4, 1 } },
        { "pendulum/fixed", PENDULUM, { 3, 3, 3, 3 } },
        { "async/fixed", ASYNC, { 3, 3, 3, 3, 3, 3, 3, 3 } },
        { "async/schedule", ASYNC, { 1, 4, 2, 1, 1, 1, 3, 4 } },
        { "async/shared", ASYNC "[Actor]\nProcesses=2\n", { 4, 4, 1, 1, 1, 4, 4, 4 } },
        { "async/cold", ASYNC "[Scaling]\nWarmActors=1\n", { 4, 1, 1, 1, 1, 4, 3, 4 } },
        { "async/keep-alive", ASYNC "[Scaling]\nKeepAliveSec=0.02\n", { 4, 1, 1, 1, 1, 1, 1, 4, 3, 4 } },
        { "pendulum/schedule", PENDULUM, { 4, 1, 1, 3, 2, 4 } },
};

static Fused *loop_new(const JobSettings *settings) {
        const ActordEnv *env;
        Fused *fused;

        g_assert_cmpint(environment_load(settings->environment, programs, &env), ==, 0);
        g_assert_cmpint(fused_new(settings, env, &fused), ==, 0);
        return fused;
}

static const Record *record_of(const Job *job, uint32_t kind, uint64_t round) {
        for (size_t i = 0; i < job->n_records; i++)
                if (job->records[i].kind == kind && job->records[i].round == round)
                        return &job->records[i];
        return NULL;
}

/* Makes one more round of the job that runs as processes of its own, and returns the round's record. */
static const Record *job_step(Job *job, uint64_t round, uint32_t n_actors) {
        const Record *record;

        job->plan.through_round = round;
        job->plan.decision.n_actors = n_actors;
        job->plan.acknowledged = job->position;
        job_send_plan(job);
        while (!(record = record_of(job, RECORD_ROUND, round))) {
                g_assert_true(job_wait(job));
                g_assert_false(job_read(job));
        }
        return record;
}

/* Compares two sets of statistics. A figure that does not exist yet is NaN in both. */
static void check_same(const Statistics *a, const Statistics *b) {
#define X(name, unit)                           \
        if (!isnan(a->name) || !isnan(b->name)) \
                g_assert_cmpfloat(a->name, ==, b->name);
        STATISTICS(X)
#undef X
        g_assert_cmpuint(a->n_env_steps, ==, b->n_env_steps);
        g_assert_cmpuint(a->n_episodes, ==, b->n_episodes);
}

static void test_same(gconstpointer data) {
        const Case *c = data;
        const Record *ended;
        uint8_t sha256[32];
        Fused *fused;
        Job job;

        job_init(&job, SANDBOX_LEVEL_PROCESS, c->text);
        g_assert_true(job_start(&job));
        (void) job_connect(&job);
        fused = loop_new(&job.settings);

        for (uint64_t k = 0; k < G_N_ELEMENTS(c->counts) && c->counts[k] > 0; k++) {
                const Record *round = job_step(&job, k + 1, c->counts[k]);
                Statistics statistics;
                FusedTimes times;

                g_assert_cmpint(fused_round(fused, c->counts[k], &statistics, &times), ==, 0);
                check_same(&statistics, &round->statistics);
                g_assert_cmpuint(times.round_nsec, ==, round->emulated_round_nsec);
                if (job.settings.distribution == DISTRIBUTION_ASYNC)
                        g_assert_cmpuint(round->decision.taken, ==, round->actor + 1);
                else
                        g_assert_cmpuint(
                                        times.round_nsec, ==, times.learner_nsec + times.slowest_actor_nsec);
                g_assert_cmpuint(times.actors_nsec, <=, c->counts[k] * times.slowest_actor_nsec);
        }

        job.plan.end = PLAN_END_INTERRUPTED;
        ended = job_finish(&job);
        job_print_log(&job);
        fused_hash_policy(fused, sha256);
        g_assert_cmpmem(sha256, 32, ended->sha256, 32);
        fused_free(fused);
        job_done(&job);
}

/* An evaluation does not change what is learned, and plays the same episodes each time. */
static void test_evaluate(void) {
        Fused *watched, *alone;
        uint8_t watched_sha256[32], alone_sha256[32];
        double first, again;
        JobSettings settings;
        Statistics statistics;
        FusedTimes times;
        g_autofree char *message = NULL;

        g_assert_cmpint(settings_parse(CARTPOLE, "test.conf", NULL, 0, NULL, &settings, &message), ==, 0);
        watched = loop_new(&settings);
        alone = loop_new(&settings);
        for (unsigned k = 0; k < 3; k++) {
                g_assert_cmpint(fused_round(watched, 2, &statistics, &times), ==, 0);
                g_assert_cmpint(fused_round(alone, 2, &statistics, &times), ==, 0);
                g_assert_cmpint(fused_evaluate(watched, 0, 3, &first), ==, 0);
                g_assert_cmpint(fused_evaluate(watched, 0, 3, &again), ==, 0);
                g_assert_cmpfloat(first, ==, again);
                g_assert_cmpfloat(first, >, 0);
        }
        fused_hash_policy(watched, watched_sha256);
        fused_hash_policy(alone, alone_sha256);
        g_assert_cmpmem(watched_sha256, 32, alone_sha256, 32);
        fused_free(watched);
        fused_free(alone);
}

static int step_fails(void *instance, const void *action, ActordRandom *random, void *ret_observation,
                ActordStep *ret) {
        return -EDOM;
}

/* An environment that fails is reported with its fault and its actor. */
static void test_fault(void) {
        g_autofree char *message = NULL;
        const ActordEnv *env;
        ActordEnv broken;
        JobSettings settings;
        Statistics statistics;
        FusedTimes times;
        Fused *fused;

        g_assert_cmpint(settings_parse(CARTPOLE, "test.conf", NULL, 0, NULL, &settings, &message), ==, 0);
        g_assert_cmpint(environment_load(settings.environment, programs, &env), ==, 0);
        broken = *env;
        broken.step = step_fails;
        g_assert_cmpint(fused_new(&settings, &broken, &fused), ==, 0);
        g_assert_cmpint(fused_round(fused, 1, &statistics, &times), ==, -EIO);
        g_assert_cmpuint(fused_fault(fused)->fault, ==, FAULT_ENVIRONMENT);
        g_assert_cmpint(fused_fault(fused)->detail, ==, EDOM);
        g_assert_cmpuint(fused_fault(fused)->actor, ==, 0);
        fused_free(fused);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        if (!programs_are_built()) {
                g_print("1..0 # SKIP actord-learner or actord-invoker is not built\n");
                return 0;
        }
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *path = g_strconcat("/fused/same/", cases[i].name, NULL);

                g_test_add_data_func(path, &cases[i], test_same);
        }
        g_test_add_func("/fused/evaluate", test_evaluate);
        g_test_add_func("/fused/fault", test_fault);
        return g_test_run();
}
