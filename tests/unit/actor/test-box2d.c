/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The tasks on Box2D: motions that a formula predicts, how episodes end, and that an episode goes on exactly
 * as before from a snapshot in a world that is built anew. tests/parity/box2d.py compares the tasks with
 * Gymnasium. */
#include <errno.h>

#include "tests/unit/env-fixture.h"

#define HEIGHT (400 / 30.0)

enum { NOTHING, LEFT, MAIN, RIGHT };

static Env *task_new(const char *name) {
        if (!env_find(name)) {
                g_test_skip("env-box2d.so is not built");
                return NULL;
        }
        return env_new(name);
}

/* Once the legs have swung out, the lander falls freely: with 10 m/s², its speed grows by 0.2 m/s in each
 * step of 1/50 s. Observations scale a speed by HEIGHT / 2 / 50. */
static void test_lander_falls(void) {
        g_autoptr(Env) env = task_new("LunarLander-v3");

        if (!env)
                return;
        env_reset(env, 1);
        for (int i = 0; i < 15; i++) {
                float before = env_observation(env)[3];

                env_step_number(env, NOTHING);
                if (i >= 5)
                        g_assert_cmpfloat(fabs(env_observation(env)[3] - before + 0.2 * (HEIGHT / 2) / 50),
                                        <, 1e-4);
                g_assert_false(env->step.terminated);
        }
}

static void test_lander_engines(void) {
        static const int sign[] = { [LEFT] = 1, [RIGHT] = -1 };
        g_autoptr(Env) env = task_new("LunarLander-v3");
        float before[8];

        if (!env)
                return;
        for (int engine = LEFT; engine <= RIGHT; engine++) {
                env_reset(env, 2);
                memcpy(before, env_observation(env), sizeof(before));
                for (int i = 0; i < 5; i++)
                        env_step_number(env, engine);
                if (engine == MAIN) /* it falls more slowly than without an engine */
                        g_assert_cmpfloat(env_observation(env)[3], >, before[3] - 5 * 0.0266f + 0.05f);
                else /* it turns */
                        g_assert_cmpfloat(sign[engine] * (env_observation(env)[5] - before[5]), >, 0.01);
        }
}

static void test_lander_crashes(void) {
        g_autoptr(Env) env = task_new("LunarLander-v3");

        if (!env)
                return;
        for (int episode = 0; episode < 5; episode++) {
                env_reset(env, 3);
                do
                        env_step_number(env, NOTHING);
                while (!env_ended(env));
                g_assert_true(env->step.terminated);
                g_assert_cmpfloat(env->step.reward, ==, -100);
                g_assert_cmpuint(env->n_steps, <, 150);
        }
}

/* Points towards the pad and brakes: a plain controller of two proportional-derivative loops. */
static int lander_pilot(const float *o) {
        double angle = fmin(fmax(0.5 * o[0] + o[2], -0.4), 0.4), hover = 0.55 * fabs(o[0]);
        double turn = 0.5 * (angle - o[4]) - o[5], rise = 0.5 * (hover - o[1]) - 0.5 * o[3];

        if (o[6] != 0 || o[7] != 0) {
                turn = 0;
                rise = -0.5 * o[3];
        }
        if (rise > fabs(turn) && rise > 0.05)
                return MAIN;
        if (turn < -0.05)
                return RIGHT;
        return turn > 0.05 ? LEFT : NOTHING;
}

static void test_lander_lands(void) {
        g_autoptr(Env) env = task_new("LunarLander-v3");
        double total = 0;
        int landed = 0;

        if (!env)
                return;
        for (int episode = 0; episode < 20; episode++) {
                env_reset(env, 4);
                do {
                        env_step_number(env, lander_pilot(env_observation(env)));
                        total += env->step.reward;
                } while (!env_ended(env));
                landed += env->step.terminated && env->step.reward == 100;
        }
        g_assert_cmpint(landed, >=, 12);
        g_assert_cmpfloat(total / 20, >, 180);
}

static void test_lander_wind(void) {
        const ActordOption wind[] = { env_option("EnableWind", "yes"), env_option("WindPower", "20") };
        g_autoptr(Env) calm = task_new("LunarLander-v3"), windy = NULL;

        if (!calm)
                return;
        windy = env_new_with("LunarLander-v3", wind, 2);
        env_reset(calm, 5);
        env_reset(windy, 5);
        for (int i = 0; i < 20; i++) {
                env_step_number(calm, NOTHING);
                env_step_number(windy, NOTHING);
        }
        g_assert_cmpfloat(fabs(env_observation(calm)[2] - env_observation(windy)[2]), >, 1e-3);
}

/* A walker that moves at random soon falls. */
static void test_walker_falls(void) {
        g_autoptr(Env) env = task_new("BipedalWalker-v3");
        ActordRandom actions;

        if (!env)
                return;
        env_reset(env, 6);
        g_assert_cmpfloat(env_observation(env)[8], ==, 1); /* both feet on the ground */
        g_assert_cmpfloat(env_observation(env)[13], ==, 1);
        for (int i = 14; i < 24; i++)
                g_assert_cmpfloat(fabs(env_observation(env)[i] - 0.72), <=, 0.28);
        random_begin(&actions, 6, RANDOM_ACTION, 0, 0, 0);
        do {
                uint32_t action[32];

                if (env->n_steps == env->spec.horizon_steps)
                        env_reset(env, 6);
                action_draw(&env->spec, &actions, action);
                env_step(env, 6, action);
        } while (!env->step.terminated);
        g_assert_cmpfloat(env->step.reward, ==, -100);
}

/* An obstacle shortens the walker's lidar beams, and a hole lengthens them. */
static void test_hardcore_sees(void) {
        enum {
                N_GROUND = 200,
                FORCE = N_GROUND,
                OBSTACLE,
                N_STATE = 2 * N_GROUND + 1,
                RAYS = 14,
                N_RAYS = 10
        };
        static const struct {
                double obstacle;
                int sign;
        } cases[] = { { 12, -1 }, { 23, 1 }, { 34, -1 }, { 44, 1 } };
        g_autoptr(Env) env = task_new("BipedalWalkerHardcore-v3");
        double state[N_STATE] = {};
        float level[RAYS + N_RAYS];

        if (!env)
                return;
        g_assert_cmpint(env->abi->set_state(env->instance, state, env->observation), ==, 0);
        memcpy(level, env_observation(env), sizeof(level));
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                double most = 0;

                state[OBSTACLE + 13] = cases[i].obstacle;
                g_assert_cmpint(env->abi->set_state(env->instance, state, env->observation), ==, 0);
                for (int k = RAYS; k < RAYS + N_RAYS; k++)
                        most = fmax(most, cases[i].sign * (double) (env_observation(env)[k] - level[k]));
                g_assert_cmpfloat(most, >, 0.05);
        }
        for (const double *impossible = (const double[]){ 10, 13, 22, 25, 55, 99, 11.5, -11, INFINITY, NAN,
                             0 };
                        *impossible != 0; impossible++) {
                state[OBSTACLE + 13] = *impossible;
                g_assert_cmpint(env->abi->set_state(env->instance, state, env->observation), ==, -EINVAL);
        }
}

/* Every episode has obstacles of more than one kind, each behind grass. */
static void test_hardcore_draws(void) {
        enum { N_GROUND = 200, OBSTACLE = N_GROUND + 1, N_STATE = 2 * N_GROUND + 1 };
        g_autoptr(Env) env = task_new("BipedalWalkerHardcore-v3");
        int kinds[5] = {};

        if (!env)
                return;
        for (int i = 0; i < 20; i++) {
                double state[N_STATE];
                int n = 0;

                env_reset(env, 11);
                g_assert_cmpint(env->abi->get_state(env->instance, state), ==, 0);
                for (int k = 0; k < N_GROUND; k++) {
                        if (state[OBSTACLE + k] == 0)
                                continue;
                        g_assert_cmpint(k, >=, 20);
                        kinds[(int) state[OBSTACLE + k] / 10]++;
                        n++;
                }
                g_assert_cmpint(n, >=, 8);
        }
        for (int kind = 1; kind <= 4; kind++)
                g_assert_cmpint(kinds[kind], >, 20);
}

/* An episode goes on in the same way from a snapshot of any step: in the instance that took it, and in a new
 * instance, which was in another episode. */
static void test_goes_on(gconstpointer name) {
        g_autoptr(Env) one = task_new(name), other = NULL;

        if (!one)
                return;
        other = env_new(name);
        env_reset(other, 8);
        env_reset(one, 7);
        for (int i = 0; i < 120 && !env_ended(one); i++) {
                float expected[24];

                if (i % 7 == 0) {
                        g_assert_cmpint(one->abi->snapshot(one->instance, one->snapshot), ==, 0);
                        g_assert_cmpint(one->abi->restore(one->instance, one->snapshot), ==, 0);
                        g_assert_cmpint(other->abi->restore(other->instance, one->snapshot), ==, 0);
                        other->episode = one->episode;
                        other->n_steps = one->n_steps;
                }
                env_step_number(one, i % 4);
                memcpy(expected, env_observation(one), one->observation_bytes);
                env_step_number(other, i % 4);
                g_assert_cmpmem(expected, one->observation_bytes, env_observation(other),
                                one->observation_bytes);
                g_assert_cmpfloat(one->step.reward, ==, other->step.reward);
        }
}

static void test_snapshot_refused(gconstpointer name) {
        g_autoptr(Env) env = task_new(name);

        if (!env)
                return;
        env_reset(env, 9);
        g_assert_cmpint(env->abi->snapshot(env->instance, env->snapshot), ==, 0);
        ((uint32_t *) env->snapshot)[0] = 100000; /* more steps than an episode has */
        g_assert_cmpint(env->abi->restore(env->instance, env->snapshot), ==, -EINVAL);

        env_reset(env, 9);
        g_assert_cmpint(env->abi->snapshot(env->instance, env->snapshot), ==, 0);
        ((double *) env->snapshot)[1] = NAN;
        g_assert_cmpint(env->abi->restore(env->instance, env->snapshot), ==, -EINVAL);
}

int main(int argc, char *argv[]) {
        static const char *const names[] = { "LunarLander-v3", "LunarLanderContinuous-v3",
                "BipedalWalker-v3", "BipedalWalkerHardcore-v3" };

        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/box2d/lander/falls", test_lander_falls);
        g_test_add_func("/box2d/lander/engines", test_lander_engines);
        g_test_add_func("/box2d/lander/crashes", test_lander_crashes);
        g_test_add_func("/box2d/lander/lands", test_lander_lands);
        g_test_add_func("/box2d/lander/wind", test_lander_wind);
        g_test_add_func("/box2d/walker/falls", test_walker_falls);
        g_test_add_func("/box2d/hardcore/sees", test_hardcore_sees);
        g_test_add_func("/box2d/hardcore/draws", test_hardcore_draws);
        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                g_autofree char *goes_on = g_strdup_printf("/box2d/goes-on/%s", names[i]);
                g_autofree char *refused = g_strdup_printf("/box2d/snapshot-refused/%s", names[i]);

                g_test_add_data_func(goes_on, names[i], test_goes_on);
                g_test_add_data_func(refused, names[i], test_snapshot_refused);
        }
        return g_test_run();
}
