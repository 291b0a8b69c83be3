/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests the environment `shares`: its equations by hand, jobs that come and go, and a rule that a policy
 * must beat. tests/unit/actor/test-envs.c checks it as it checks every environment. */
#include "lib/shares.h"
#include "tests/unit/domains-fixture.h"

/* Positions of numbers in the state of `shares` (actor/envs/shares.c). The first numbers belong to the whole
 * environment; from JOBS on, each job has N_JOB numbers. */
enum { FINISHED, MISSED, JOBS };
enum { WORK, PARALLEL, DEADLINE, AGE, DONE, SPEED, WEIGHT, N_JOB };
enum { N = 4 };

typedef struct Bed {
        Env *env;
        double state[NUMBERS_MAX];
        ActordStep steps[SHARES_JOBS_MAX];
        uint8_t active[SHARES_JOBS_MAX];
        ActordRandom random;
} Bed;

static void bed_open(Bed *bed, const char *jobs) {
        ActordOption options[] = { env_option("Jobs", jobs), env_option("Agents", jobs) };

        *bed = (Bed){ .env = env_new_with("shares", options, 2) };
        env_reset(bed->env, SEED);
        random_begin(&bed->random, SEED, RANDOM_STEP, 0, 0, 0);
        get_state(bed->env, bed->state);
}

static void bed_step(Bed *bed, const int32_t *choices) {
        const ActordEnv *abi = bed->env->abi;

        g_assert_cmpint(abi->step(bed->env->instance, choices, &bed->random, bed->env->observation,
                                        bed->steps),
                        ==, 0);
        get_state(bed->env, bed->state);
        g_assert_cmpint(abi->active(bed->env->instance, bed->active), ==, 0);
}

static double *job(Bed *bed, int i) {
        return &bed->state[JOBS + i * N_JOB];
}

static void put(Bed *bed, int i, double work, double parallel, double deadline, double age, double done,
                double weight) {
        memcpy(job(bed, i), (double[N_JOB]){ work, parallel, deadline, age, done, 1, weight },
                        N_JOB * sizeof(double));
}

/* Tests a step with two jobs that want all 8 CPUs. One job's weight rises from 100 to 150, the other's stays
 * at 100. */
static void test_step(void) {
        const int32_t choices[] = { SHARES_UP, SHARES_SAME };
        Bed bed;

        bed_open(&bed, "2");
        put(&bed, 0, 80, 8, 20, 10, 40, 100);
        put(&bed, 1, 80, 8, 0, 0, 0, 100);
        set_state(bed.env, bed.state);
        bed_step(&bed, choices);
        g_assert_cmpfloat(job(&bed, 0)[WEIGHT], ==, 150);
        assert_near(job(&bed, 0)[DONE], 40 + 4.8, 1e-9);
        assert_near(job(&bed, 1)[DONE], 3.2, 1e-9);
        assert_near(bed.steps[0].reward, 4.8 / 80 - 2.0 / 20 * log(15) / log(100), 1e-9);
        assert_near(bed.steps[1].reward, 3.2 / 80 - 0.01 - 2.0 / 20 / 2, 1e-9);
        env_free(bed.env);
}

/* Tests a job that ends in time, a job that ends late, and a job whose deadline passes during the step. */
static void test_ends(void) {
        const int32_t choices[N] = { SHARES_SAME, SHARES_SAME, SHARES_SAME, SHARES_SAME };
        double price = 2.0 / 20 / 2;
        Bed bed;

        bed_open(&bed, "4");
        put(&bed, 0, 40, 2, 30, 29, 39, 100);
        put(&bed, 1, 40, 2, 20, 25, 39, 100);
        put(&bed, 2, 40, 2, 20, 20, 10, 100);
        put(&bed, 3, 40, 2, 0, 7, 10, 100);
        set_state(bed.env, bed.state);
        bed_step(&bed, choices);
        assert_near(bed.steps[0].reward, 1.0 / 40 + 1 - price, 1e-9);
        assert_near(bed.steps[1].reward, -0.02 - price, 1e-9);
        assert_near(bed.steps[2].reward, -0.02 - price, 1e-9);
        g_assert_cmpfloat(bed.state[FINISHED], ==, 1);
        g_assert_cmpfloat(bed.state[MISSED], ==, 1); /* of job 2; the deadline of job 1 had passed before */
        g_assert_true(bed.active[2] && bed.active[3]);
        for (int i = 0; i < 2; i++)
                g_assert_true(!bed.active[i] || job(&bed, i)[AGE] == 0); /* no job, or a new one */
        env_free(bed.env);
}

/* In a long play some job is always present, and the agents of absent jobs see zeros. Jobs that end in time
 * are counted, and so are missed deadlines. */
static void test_comes_and_goes(void) {
        int n_absent = 0, n_here = 0;
        ActordRandom actions;
        Bed bed;

        bed_open(&bed, "3");
        random_begin(&actions, SEED, RANDOM_ACTION, 0, 0, 0);
        for (int k = 0; k < 5000; k++) {
                int32_t choices[3];
                const float *o = env_observation(bed.env);
                double done = 0, before = 0;

                for (int i = 0; i < 3; i++) {
                        choices[i] = (int32_t) random_below(&actions, SHARES_N_ACTIONS);
                        before += job(&bed, i)[DONE];
                }
                bed_step(&bed, choices);
                for (int i = 0, any = 0; i < 3; i++) {
                        any += bed.active[i];
                        done += job(&bed, i)[DONE];
                        n_here += bed.active[i];
                        n_absent += !bed.active[i];
                        for (int f = 0; f < SHARES_N_FEATURES; f++)
                                g_assert_true(bed.active[i] || o[i * SHARES_N_FEATURES + f] == 0);
                        g_assert_true(i < 2 || any > 0);
                }
                g_assert_cmpfloat(done, <=, before + 8 + 1e-9); /* the host's CPUs */
        }
        g_assert_cmpint(n_absent, >, 500);
        g_assert_cmpint(n_here, >, 5000);
        g_assert_cmpfloat(bed.state[FINISHED], >, 300);
        g_assert_cmpfloat(bed.state[MISSED], >, 10);
        env_free(bed.env);
}

static int32_t rule_of(const float *o) {
        return o[SHARES_PACE] > 0.45f ? SHARES_UP : SHARES_DOWN;
}

/* Plays 100 episodes, with equal weights or by rule_of(). Returns the share of deadlines that were missed;
 * *ret_return: the mean return of an agent. */
static double missed_of(bool ruled, double *ret_return) {
        double n[2] = {}, sum = 0;
        Bed bed;

        bed_open(&bed, "4");
        for (int e = 0; e < 100; e++) {
                env_reset(bed.env, SEED);
                for (int k = 0; k < 200; k++) {
                        const float *o = env_observation(bed.env);
                        int32_t choices[N];

                        for (int i = 0; i < N; i++, o += SHARES_N_FEATURES)
                                choices[i] = ruled ? rule_of(o) : SHARES_SAME;
                        bed_step(&bed, choices);
                        for (int i = 0; i < N; i++)
                                sum += bed.steps[i].reward / N;
                }
                n[0] += bed.state[FINISHED];
                n[1] += bed.state[MISSED];
        }
        env_free(bed.env);
        *ret_return = sum / 100;
        return n[1] / (n[0] + n[1]);
}

static void test_baselines(void) {
        double equal_return, ruled_return;
        double equal = missed_of(false, &equal_return), ruled = missed_of(true, &ruled_return);

        g_test_message("equal weights: %.3f missed, return %.2f; by rule: %.3f missed, return %.2f", equal,
                        equal_return, ruled, ruled_return);
        g_assert_cmpfloat(ruled, <, 0.8 * equal);
        g_assert_cmpfloat(ruled_return, >, equal_return);
}

static void test_refuses(void) {
        ActordOption none = env_option("Jobs", "0"), many = env_option("Jobs", "17"),
                     agents = env_option("Agents", "5");
        const int32_t bad[N] = { SHARES_N_ACTIONS };
        ActordEnvSpec spec;
        Bed bed;

        g_assert_cmpint(env_find("shares")->spec(&none, 1, &spec), ==, -EINVAL);
        g_assert_cmpint(env_find("shares")->spec(&many, 1, &spec), ==, -EINVAL);
        g_assert_cmpint(env_find("shares")->spec(&agents, 1, &spec), ==, -EINVAL);
        bed_open(&bed, "4");
        g_assert_cmpint(bed.env->abi->step(bed.env->instance, bad, &bed.random, bed.env->observation,
                                        bed.steps),
                        ==, -EINVAL);
        job(&bed, 2)[WEIGHT] = 1001;
        g_assert_cmpint(bed.env->abi->restore(bed.env->instance, bed.state), ==, -EINVAL);
        job(&bed, 2)[WEIGHT] = 1000;
        job(&bed, 2)[DONE] = NAN;
        g_assert_cmpint(bed.env->abi->restore(bed.env->instance, bed.state), ==, -EINVAL);
        env_free(bed.env);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);

        g_test_add_func("/shares/step", test_step);
        g_test_add_func("/shares/ends", test_ends);
        g_test_add_func("/shares/comes-and-goes", test_comes_and_goes);
        g_test_add_func("/shares/baselines", test_baselines);
        g_test_add_func("/shares/refuses", test_refuses);

        return g_test_run();
}
