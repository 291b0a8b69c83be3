/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compares the environment that trains a job (actord_job_env()) with a training in this process that has the
 * same seed and counts (fused_round()): observations and rewards are the same. Also tests the texts with
 * which an outer job names its inner job. */
#include <errno.h>
#include <glib.h>
#include <math.h>
#include <string.h>

#include "actor/actor.h"
#include "learner/job/loop.h"
#include "lib/environments.h"
#include "lib/minions.h"
#include "lib/rng.h"
#include "lib/settings/settings.h"

const ActordEnv *actord_job_env(const JobSettings *settings, const char *directory);

#define INNER                                                                                               \
        "[Job]\nEnvironment=CartPole-v1\nStopSteps=512\nStopReturn=400\n[Scaling]\nActors=1\nMaxActors=4\n" \
        "[Actor]\nRolloutSteps=32\n[Learner]\nMinibatchSize=32\nEpochs=2\n[Billing]\nStepUSec=1000\n"

static JobSettings inner;

typedef struct Play {
        const ActordEnv *env;
        void *instance;
        uint64_t episode;
        float observation[MINIONS_N_FEATURES];
        Fused *twin;
        double best;
        MinionsFacts facts;
} Play;

static int play_open(Play *p, const ActordOption *options, uint32_t n_options) {
        ActordEnvSpec spec;
        int r;

        *p = (Play){ .env = actord_job_env(&inner, "."), .best = NAN };
        g_assert_nonnull(p->env);
        r = p->env->spec(options, n_options, &spec);
        if (r < 0)
                return r;
        g_assert_cmpuint(spec.action.n_choices, ==, 4);
        g_assert_cmpuint(spec.observation.shape[0], ==, MINIONS_N_FEATURES);
        g_assert_cmpuint(spec.flags, ==, ACTORD_ENV_STICKY);
        p->instance = aligned_alloc(64, (spec.instance_bytes + 63) / 64 * 64);
        memset(p->instance, 0, spec.instance_bytes);
        g_assert_cmpint(p->env->init(p->instance, options, n_options), ==, 0);
        return 0;
}

/* Resets the environment, which then begins a training. Begins the same training a second time (p->twin),
 * with the seed that the environment drew from its random stream. */
static void play_reset(Play *p) {
        JobSettings settings = inner;
        ActordRandom random, same;
        const ActordEnv *env;
        uint64_t high, low;

        random_begin(&random, 1, RANDOM_RESET, 0, ++p->episode, 0);
        same = random;
        g_assert_cmpint(p->env->reset(p->instance, &random, p->observation), ==, 0);

        high = actord_random_u32(&same);
        low = actord_random_u32(&same);
        settings.seed = high << 32 | low;
        settings.clock = CLOCK_MODEL;
        g_assert_cmpint(environment_load("CartPole-v1", ".", &env), ==, 0);
        fused_free(p->twin);
        g_assert_cmpint(fused_new(&settings, env, &p->twin), ==, 0);
        p->facts = (MinionsFacts){ .return_mean = NAN };
        p->best = NAN;
}

/* Makes a step in the environment and in the twin, and checks that observation and reward are equal. Returns
 * the step. *ret_last: the last term of the reward, which is not checked here. */
static ActordStep play_step(Play *p, int32_t choice, unsigned n_episodes, double beta, double *ret_last) {
        float expected[MINIONS_N_FEATURES];
        Statistics s;
        FusedTimes times;
        ActordStep step;

        g_assert_cmpint(p->env->step(p->instance, &choice, NULL, p->observation, &step), ==, 0);
        g_assert_cmpint(fused_round(p->twin, (uint32_t) choice + 1, &s, &times), ==, 0);
        if (n_episodes > 0)
                g_assert_cmpint(fused_evaluate(p->twin, 0, n_episodes, &s.evaluation_mean), ==, 0);
        p->facts = (MinionsFacts){
                .round = p->facts.round + 1,
                .loss = minions_loss(&inner, &s),
                .return_mean = minions_return(&s, n_episodes > 0, p->facts.return_mean),
                .kl = s.kl,
                .learner_nsec = times.learner_nsec,
                .actor_mean_nsec = times.actors_nsec / ((uint64_t) choice + 1),
                .round_nsec = times.round_nsec,
                .budget_left = minions_steps_left(&inner, &s),
        };
        p->best = fmax(p->best, p->facts.return_mean);
        minions_features(&p->facts, 400, expected);
        g_assert_cmpmem(p->observation, sizeof(expected), expected, sizeof(expected));
        *ret_last = step.reward + beta * (double) times.round_nsec / 1e9;
        return step;
}

static void play_close(Play *p) {
        p->env->close(p->instance);
        free(p->instance);
        fused_free(p->twin);
}

static void test_rounds(void) {
        static const ActordOption options[] = { { "Rounds", "4" }, { "Beta", "0.5" }, { "Episodes", "2" } };
        static const int32_t choices[] = { 0, 3, 1, 2 };
        float first[MINIONS_N_FEATURES];
        Play p;

        g_assert_cmpint(play_open(&p, options, G_N_ELEMENTS(options)), ==, 0);
        for (unsigned episode = 0; episode < 2; episode++) {
                play_reset(&p);
                g_assert_cmpfloat(p.observation[MINIONS_RETURN], ==, -1);
                g_assert_cmpfloat(p.observation[MINIONS_BUDGET], ==, 1);
                for (unsigned k = 0; k < 4; k++) {
                        double last;
                        ActordStep step = play_step(&p, choices[k], 2, 0.5, &last);

                        /* The last step's reward includes the best return minus the target (400), divided by
                         * the target. */
                        g_assert_cmpint(step.terminated, ==, k == 3);
                        g_assert_cmpfloat_with_epsilon(last, k == 3 ? (p.best - 400) / 400 : 0, 1e-12);
                        if (k == 0 && episode == 0)
                                memcpy(first, p.observation, sizeof(first));
                        if (k == 0 && episode == 1)
                                g_assert_true(memcmp(first, p.observation, sizeof(first)) != 0);
                }
        }
        play_close(&p);
}

/* A round of four actors has 128 steps; StopSteps= ends the inner job after four rounds. */
static void test_steps(void) {
        static const ActordOption options[] = { { "Episodes", "0" } };
        ActordStep step;
        double last;
        Play p;

        g_assert_cmpint(play_open(&p, options, 1), ==, 0);
        play_reset(&p);
        for (unsigned k = 0; k < 4; k++) {
                step = play_step(&p, 3, 0, 0.1, &last);
                g_assert_cmpint(step.terminated, ==, k == 3);
        }
        g_assert_cmpfloat(p.observation[MINIONS_BUDGET], ==, 0);
        g_assert_cmpfloat(last, <, 0);
        play_close(&p);
}

/* An episode that reaches its target ends at once. Its last reward is only minus the cost of the time. */
static void test_target(void) {
        static const ActordOption options[] = { { "Target", "1" }, { "Episodes", "1" } };
        int32_t choice = 1;
        ActordStep step;
        Play p;

        g_assert_cmpint(play_open(&p, options, 2), ==, 0);
        play_reset(&p);
        g_assert_cmpint(p.env->step(p.instance, &choice, NULL, p.observation, &step), ==, 0);
        g_assert_cmpint(step.terminated, ==, 1);
        g_assert_cmpfloat(step.reward, <, 0);
        g_assert_cmpfloat(step.reward, >, -0.1);
        play_close(&p);
}

static void test_refused(void) {
        static const ActordOption wrong[] = { { "Rounds", "0" }, { "Beta", "x" }, { "Target", "nan" },
                { "Episodes", "-1" }, { "Colour", "blue" } };
        static const int32_t choices[] = { -1, 4, INT32_MAX };
        ActordStep step;
        Play p;

        for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++)
                g_assert_cmpint(play_open(&p, &wrong[i], 1), ==, -EINVAL);
        g_assert_cmpint(play_open(&p, NULL, 0), ==, 0);
        g_assert_cmpint(p.env->step(p.instance, &choices[0], NULL, p.observation, &step), ==, -EINVAL);
        play_reset(&p);
        for (size_t i = 0; i < G_N_ELEMENTS(choices); i++)
                g_assert_cmpint(p.env->step(p.instance, &choices[i], NULL, p.observation, &step), ==,
                                -EINVAL);
        g_assert_cmpint(p.env->snapshot(p.instance, p.observation), ==, -ENOTSUP);
        play_close(&p);
}

#define OUTER "[Job]\nEnvironment=job:x.conf\n[Actor]\nCarry=reset\nRolloutSteps=50\n"

static char *outer_error(const char *text) {
        g_autofree char *message = NULL;
        JobSettings outer, parsed;

        if (settings_parse(text, "o.conf", NULL, 0, NULL, &outer, &message) < 0 ||
                        settings_parse_inner(text, "o.conf", &outer, &parsed, &message) < 0)
                return g_steal_pointer(&message);
        return NULL;
}

/* The client prints an inner job as sections of the outer one, and the daemon reads the same settings out
 * of them. */
static void test_text(void) {
        g_autofree char *sections = settings_print_inner(&inner), *text = g_strconcat(OUTER, sections, NULL),
                        *message = NULL;
        JobSettings outer, again;

        g_assert_cmpint(settings_parse(text, "o.conf", NULL, 0, NULL, &outer, &message), ==, 0);
        g_assert_cmpint(settings_parse_inner(text, "o.conf", &outer, &again, &message), ==, 0);
        g_assert_cmpmem(&again, sizeof(again), &inner, sizeof(inner));
}

static void test_text_refused(void) {
        static const struct {
                const char *text, *word;
        } cases[] = {
                { OUTER, "inner job's text is missing" },
                { OUTER "[Inner.Job]\nEnvironment=CartPole-v1\n", "o.conf: [Scaling] MaxActors: " },
                { OUTER "[Inner.Job]\nEnvironment=CartPole-v1\n[Inner.Scaling]\nMaxActors=1\n",
                                "o.conf:9: [Scaling] MaxActors: " },
                { OUTER "[Inner.Job]\nEnvironment=job:y\n[Inner.Scaling]\nMaxActors=2\n[Inner.Actor]\n"
                        "Carry=reset\n",
                                "o.conf:7: [Job] Environment: " },
                { OUTER "[Inner.Job]\nEnvironment=./y.so\n[Inner.Scaling]\nMaxActors=2\n",
                                "o.conf:7: [Job] Environment: " },
                { OUTER "[Inner.Job]\nEnvironment=Pendulum-v1\n[Inner.Scaling]\nMaxActors=2\n",
                                "StopReturn" },
                { OUTER "[Inner.Job]\nEnvironment=CartPole-v1\nBudget=1\n[Inner.Scaling]\nMaxActors=2\n",
                                "o.conf:8: [Job] Budget: " },
                { OUTER "[Inner.Job]\nEnvironment=CartPole-v1\nAlgorithm=impala\n[Inner.Scaling]\n"
                        "MaxActors=2\n"
                        "[Inner.Distribution]\nPolicy=async\n",
                                "o.conf:12: [Distribution] Policy: an inner job cannot use Policy=async" },
                { OUTER "[Inner.Job]\nEnvironment=CartPole-v1\nAlgorithm=bc\n[Inner.Scaling]\n"
                        "MaxActors=2\n"
                        "[Inner.Learner]\nDataset=/main_data.hdf5\n",
                                "o.conf:12: [Learner] Dataset: an inner job plays" },
                { OUTER "[Inner.Job]\nEnvironment=CartPole-v1\nSeeed=1\n", "o.conf:8: [Job] Seeed=1" },
                { "[Job]\nEnvironment=job:x\n[Actor]\nCarry=reset\n[Environment]\nRounds=129\n",
                                "RolloutSteps" },
                { "[Job]\nEnvironment=job:x\n", "Carry" },
                { OUTER "[Environment]\nRounds=0\n", "Rounds=0" },
                { OUTER "[Environment]\nWidth=0\n", "Width" },
                { "[Job]\nEnvironment=CartPole-v1\n[Inner.Job]\nSeed=1\n", "o.conf:3: [Inner.Job]" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *message = outer_error(cases[i].text);

                if (!message || !strstr(message, cases[i].word))
                        g_error("%s: %s", cases[i].text, message ? message : "accepted");
        }
        g_assert_true(environment_is_job("job:a/b.conf"));
        g_assert_false(environment_is_file("job:a/b.conf"));
        g_assert_true(environment_is_file("./b.so"));
        g_assert_false(environment_is_job("./b.so"));
}

int main(int argc, char *argv[]) {
        g_autofree char *message = NULL;

        g_test_init(&argc, &argv, NULL);
        if (settings_parse(INNER, "inner.conf", NULL, 0, NULL, &inner, &message) < 0)
                g_error("%s", message);
        g_test_add_func("/env-job/rounds", test_rounds);
        g_test_add_func("/env-job/steps", test_steps);
        g_test_add_func("/env-job/target", test_target);
        g_test_add_func("/env-job/refused", test_refused);
        g_test_add_func("/env-job/text", test_text);
        g_test_add_func("/env-job/text/refused", test_text_refused);
        return g_test_run();
}
