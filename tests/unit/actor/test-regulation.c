/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests a controller and an envelope beside a policy: which matrices are refused, what the controller adds,
 * and that a step which keeps to the monitor's bound stays inside the envelope, on the real plant. */
#include <errno.h>

#include "lib/regulation.h"
#include "lib/settings/settings.h"
#include "tests/unit/domains-fixture.h"

/* The matrices of the cart-pole, as published. */
#define MODEL_A "ModelA=1 0.0333 0 0  0 1 -0.0565 0  0 0 1 0.0333  0 0 0.8980 1\n"
#define MODEL_B "ModelB=0 0.0334 0 -0.0783\n"
#define F       "ControllerF=8.25691599 6.76016534 40.12484514 6.84742553\n"
#define P                                                                                           \
        "EnvelopeP=4.6074554 1.49740096 5.80266046 0.99189224 1.49740096 0.81703147 2.61779592 "    \
        "0.51179642 5.80266046 2.61779592 11.29182733 1.87117709 0.99189224 0.51179642 1.87117709 " \
        "0.37041435\n"
#define ALPHA     "Alpha=0.98\n"
#define PUBLISHED MODEL_A MODEL_B F P ALPHA "ControllerGain=1.2\n"

static int parse(const char *learner, JobSettings *ret, char **ret_message) {
        g_autofree char *text =
                        g_strconcat("[Job]\nEnvironment=phydrl-cartpole\nAlgorithm=phydrl\n[Environment]\n"
                                    "BarePlant=yes\n[Learner]\n",
                                        learner, NULL);

        return settings_parse(text, "job", NULL, 0, NULL, ret, ret_message);
}

static void accept(const char *learner, JobSettings *ret) {
        g_autofree char *message = NULL;

        if (parse(learner, ret, &message) < 0)
                g_error("%s", message);
}

static void refuse(const char *learner, const char *reason) {
        g_autofree char *message = NULL;
        JobSettings settings;

        g_assert_cmpint(parse(learner, &settings, &message), ==, -EINVAL);
        if (!strstr(message, reason))
                g_error("no \"%s\" in: %s", reason, message);
}

static void test_refused(void) {
        refuse("", "this algorithm learns beside a controller");
        refuse(MODEL_A MODEL_B F ALPHA, "EnvelopeP= and ModelA= are n times n");
        refuse(MODEL_A "ModelB=0 1 2\n" F P ALPHA, "they are 16, 16, 3, 4 and 0 numbers");
        refuse(MODEL_A MODEL_B F P ALPHA "SafetySet=1 1\n", "and 2 numbers");
        refuse(MODEL_A MODEL_B F P, "give the share of its value");
        refuse(MODEL_A MODEL_B F P "Alpha=0.97\n", "write 0.975992 or more");
        /* 0.5003 squared is 0.25030009: rounded to six digits it would be refused again. */
        refuse("ModelA=0.5003\nModelB=0\nControllerF=0\nEnvelopeP=1\nAlpha=0.2503\n",
                        "write 0.250301 or more");
        refuse(MODEL_A MODEL_B "ControllerF=0 0 0 0\n" P ALPHA, "does not keep the model in the envelope");
        refuse("ModelA=1 0 0 1\nModelB=0 1\nControllerF=0 0\nEnvelopeP=1 0.5 0.4 1\n" ALPHA, "symmetric");
        refuse("ModelA=1 0 0 1\nModelB=0 1\nControllerF=0 0\nEnvelopeP=1 2 2 1\n" ALPHA,
                        "positive definite");
        refuse(MODEL_A MODEL_B F P ALPHA "SafetySet=0.9 0 0.8 0\n", "reaches to 0.812616 in number 3");
        refuse("Alpha=nan\n", "not a number");
}

/* The published matrices, for which Python has computed the bounds, and small ones that were computed by
 * hand. */
static void test_matrices(void) {
        JobSettings s;

        accept(MODEL_A MODEL_B F P ALPHA "SafetySet=0.82 0 0.813 0\n", &s);
        g_assert_true(regulation_contracts(&s, 0.98));
        g_assert_false(regulation_contracts(&s, 0.975));
        assert_near(regulation_least_alpha(&s), 0.975991, 2e-6);
        assert_near(regulation_reach(&s, 0), 0.8182, 5e-5);
        assert_near(regulation_reach(&s, 1), 3.1405, 5e-5);
        assert_near(regulation_reach(&s, 2), 0.8126, 5e-5);
        assert_near(regulation_reach(&s, 3), 5.685, 5e-4);

        accept("ModelA=0.5 0 0 0.25\nModelB=0 1\nControllerF=0 0\nEnvelopeP=4 0 0 1\nAlpha=0.3\n", &s);
        assert_near(regulation_least_alpha(&s), 0.25, 2e-6);
        assert_near(regulation_reach(&s, 0), 0.5, 1e-12);
        assert_near(regulation_reach(&s, 1), 1, 1e-12);
}

static void test_spec(void) {
        ActordOption bare = env_option("BarePlant", "yes"), plain = env_option("BarePlant", "no");
        g_autoptr(Env) env = env_new_with("phydrl-cartpole", &bare, 1);
        g_autoptr(Env) sines = env_new_with("phydrl-cartpole", &plain, 1);
        ActordEnvSpec spec = env->spec;
        JobSettings s;

        accept(PUBLISHED, &s);
        g_assert_cmpint(regulation_spec(&s, &spec), ==, 0);
        g_assert_cmpuint(spec.n_metrics, ==, 2);
        g_assert_cmpstr(spec.metrics[0], ==, "violations");
        g_assert_cmpstr(spec.metrics[1], ==, "outside");
        /* The spec has both metrics already. In the next case there is room for only one more metric. */
        g_assert_cmpint(regulation_spec(&s, &spec), ==, -EXDEV);
        spec = env->spec;
        spec.n_metrics = ACTORD_METRICS_MAX - 1;
        g_assert_cmpint(regulation_spec(&s, &spec), ==, -EXDEV);

        spec = sines->spec;
        g_assert_cmpint(regulation_spec(&s, &spec), ==, -EXDEV);
}

/* Numbers by hand. A step of the linear model has reward 0 if only the controller acts. */
static void test_reward(void) {
        const float before[] = { 0.5f, -1 }, after[] = { 0.25f, 0.5f };
        ActordEnvSpec spec = {
                .observation = { .kind = ACTORD_BOX, .element = ACTORD_F32, .n_dims = 1, .shape = { 2 } },
                .action = { .kind = ACTORD_BOX, .element = ACTORD_F32, .n_dims = 1, .shape = { 1 } }
        };
        float action = 0.5f;
        RegulationCounts counts = {};
        Regulation r;
        JobSettings s;

        accept("ModelA=0.5 0 0 0.5\nModelB=0 1\nControllerF=0 -1\nEnvelopeP=4 0 0 1\nAlpha=0.3\n"
               "ControllerGain=2\n",
                        &s);
        regulation_init(&r, &s, &spec);
        regulation_act(&r, before, &action, &action);
        g_assert_cmpfloat(action, ==, 2.5f);
        /* S = diag(0.5, -0.5): the model goes to (0.25, 0.5). */
        assert_near(regulation_value(&r, before), 2, 1e-12);
        assert_near(regulation_reward(&r, before, after), 0, 1e-12);
        /* One step from the origin, first to s' P s = 0.64, then to s' P s = 1.25, which is outside. */
        assert_near(regulation_step(&r, (float[]){ 0, 0 }, (float[]){ 0, 0.8f }, &counts), -0.64, 1e-6);
        g_assert_cmpuint(counts.n_violations, ==, 0);
        assert_near(regulation_step(&r, (float[]){ 0, 0 }, (float[]){ 0.5f, 0.5f }, &counts), -1.25, 1e-6);
        g_assert_cmpuint(counts.n_violations, ==, 1);
        g_assert_cmpuint(counts.n_outside, ==, 1);
}

/* Steps the plant a million times with random forces. If a step begins inside the envelope and has a reward
 * of at least Alpha - 1, it ends inside. Steps with lower rewards occur, too. */
static void test_monitor(void) {
        enum { STEPS = 1000000 };
        ActordOption options[] = { env_option("BarePlant", "yes"), env_option("Disturbance", "2") };
        g_autoptr(Env) env = env_new_with("phydrl-cartpole", options, 2);
        uint32_t n_kept = 0, n_broken = 0, n_left = 0;
        float before[4], after[4];
        Regulation r;
        JobSettings s;

        accept(PUBLISHED, &s);
        regulation_init(&r, &s, &env->spec);
        env_reset(env, SEED);
        for (uint32_t t = 0; t < STEPS; t++) {
                RegulationCounts counts = {};
                float force = (float) g_test_rand_double_range(-5, 5);

                memcpy(before, env_observation(env), sizeof(before));
                if (!(regulation_value(&r, before) <= 1)) {
                        env_reset(env, SEED);
                        continue;
                }
                regulation_act(&r, before, &force, &force);
                env_step_number(env, (double) force);
                memcpy(after, env_observation(env), sizeof(after));
                (void) regulation_step(&r, before, after, &counts);
                if (counts.n_violations == 0)
                        g_assert_cmpfloat(regulation_value(&r, after), <=, 1 + 1e-12);
                n_kept += counts.n_violations == 0;
                n_broken += counts.n_violations;
                n_left += counts.n_outside;
                if (env->step.terminated)
                        env_reset(env, SEED);
        }
        g_assert_cmpuint(n_kept, >, 100000);
        g_assert_cmpuint(n_broken, >, 100000);
        g_assert_cmpuint(n_left, >, 1000);
}

/* Whether some force keeps the cart-pole inside the envelope for one step from this state. s' P s is convex
 * in the force, and it changes little from one tried force to the next. */
static bool step_can_stay(Env *env, const Regulation *r, const double start[4]) {
        for (int force = -1500; force <= 1500; force++) {
                set_state(env, start);
                env_step_number(env, force / 100.0);
                if (regulation_value(r, env_observation(env)) <= 1)
                        return true;
        }
        return false;
}

/* Two of the 390 starts of docs/experiments/phydrl.md leave the envelope under any force, so no policy keeps
 * more than 388. */
static void test_starts(void) {
        ActordOption bare = env_option("BarePlant", "yes");
        g_autoptr(Env) env = env_new_with("phydrl-cartpole", &bare, 1);
        unsigned n_inside = 0, n_can_stay = 0;
        Regulation r;
        JobSettings s;

        accept(PUBLISHED, &s);
        regulation_init(&r, &s, &env->spec);
        for (int i = 0; i < 40 * 40; i++) {
                double start[4] = { -0.9 + 1.8 * (i / 40) / 39, 0, -0.8 + 1.6 * (i % 40) / 39, 0 };
                float state[4] = { (float) start[0], 0, (float) start[2], 0 };

                if (regulation_value(&r, state) > 1)
                        continue;
                n_inside++;
                n_can_stay += step_can_stay(env, &r, start);
        }
        g_assert_cmpuint(n_inside, ==, 390);
        g_assert_cmpuint(n_can_stay, ==, 388);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/regulation/refused", test_refused);
        g_test_add_func("/regulation/matrices", test_matrices);
        g_test_add_func("/regulation/spec", test_spec);
        g_test_add_func("/regulation/reward", test_reward);
        g_test_add_func("/regulation/monitor", test_monitor);
        g_test_add_func("/regulation/starts", test_starts);
        return g_test_run();
}
