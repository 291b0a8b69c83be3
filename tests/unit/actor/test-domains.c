/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* phydrl-cartpole and iot5g. Compares their equations with numbers that were computed elsewhere from the
 * same equations, and their rewards with hand-made cases. tests/unit/actor/test-envs.c checks them as it
 * checks every environment. */
#include "tests/unit/domains-fixture.h"

/* phydrl-cartpole */

static const double phy_start[] = { 0.1, -0.2, 0.15, 0.3 };

typedef struct PhyCase {
        const char *key, *value;
        float action;
        double speed, omega, reward;
} PhyCase;

/* A step from phy_start, computed in Python; x and theta do not depend on the force. */
static const PhyCase phy_cases[] = {
        { "ModelGain", "1.2", 0.4f, 0.1930652106012551, -0.4968386997634156, 0.0799224713895208 },
        { "LyapunovReward", "yes", 0.4f, 0.1930652106012551, -0.4968386997634156, 0.13735346487272032 },
};

static void test_phy_step(void) {
        double state[NUMBERS_MAX];

        for (size_t i = 0; i < G_N_ELEMENTS(phy_cases); i++) {
                const PhyCase *c = &phy_cases[i];
                g_autoptr(Env) env = env_with("phydrl-cartpole", c->key, c->value);

                set_state(env, phy_start);
                env_step_number(env, c->action);
                get_state(env, state);
                assert_near(state[0], 0.1 - 0.2 / 30, 1e-15);
                assert_near(state[1], c->speed, 1e-7);
                assert_near(state[2], 0.15 + 0.3 / 30, 1e-15);
                assert_near(state[3], c->omega, 1e-7);
                assert_near(env->step.reward, c->reward, 1e-7);
        }
}

/* Without the model's force and without friction, only the action's -2.5 N move the cart. It goes to the
 * left, and the pole turns to the right. */
static void test_phy_options(void) {
        ActordOption options[] = { env_option("ModelGain", "0"), env_option("Friction", "0") };
        g_autoptr(Env) env = env_new_with("phydrl-cartpole", options, 2);
        double state[NUMBERS_MAX];

        set_state(env, phy_start);
        env_step_number(env, -0.5);
        get_state(env, state);
        assert_near(state[1], -0.2914774291380788, 1e-12);
        assert_near(state[3], 0.626056022582764, 1e-12);
        assert_near(env->step.reward, -0.26311775347909633, 1e-12);
}

static double phy_lyapunov(const double s[4]) {
        static const double p[4][4] = { { 4.6074554, 1.49740096, 5.80266046, 0.99189224 },
                { 1.49740096, 0.81703147, 2.61779592, 0.51179642 },
                { 5.80266046, 2.61779592, 11.29182733, 1.87117709 },
                { 0.99189224, 0.51179642, 1.87117709, 0.37041435 } };
        double sum = 0;

        for (int i = 0; i < 4; i++)
                for (int k = 0; k < 4; k++)
                        sum += s[i] * p[i][k] * s[k];
        return sum;
}

/* Starts at rest from the points of a grid in the safety set. Counts the starts that lie in the envelope,
 * and the starts that the model-based controller alone keeps there for 150 steps. */
static void phy_count(const char *key, const char *value, unsigned *ret_inside, unsigned *ret_kept) {
        g_autoptr(Env) env = env_with("phydrl-cartpole", key, value);
        unsigned inside = 0, kept = 0;
        double state[NUMBERS_MAX];

        for (int i = 0; i < 40 * 40; i++) {
                double start[4] = { -0.9 + 1.8 * (i / 40) / 39, 0, -0.8 + 1.6 * (i % 40) / 39, 0 };
                bool stays = true;

                if (phy_lyapunov(start) > 1)
                        continue;
                inside++;
                set_state(env, start);
                for (int k = 0; k < 150 && stays; k++) {
                        env_step_number(env, 0);
                        get_state(env, state);
                        stays = phy_lyapunov(state) <= 1;
                }
                kept += stays;
        }
        *ret_inside = inside;
        *ret_kept = kept;
}

static void test_phy_model_controller(void) {
        unsigned inside, kept;

        phy_count("ModelGain", "1.2", &inside, &kept);
        g_assert_cmpuint(inside, ==, 390);
        g_assert_cmpuint(kept, ==, 318);
        phy_count("ModelGain", "1", &inside, &kept);
        g_assert_cmpuint(kept, ==, 106);
        phy_count("Friction", "10", &inside, &kept);
        g_assert_cmpuint(kept, ==, 2);
}

static void test_phy_ends(void) {
        static const double fast[] = { 0, 0, 0, 20 }, far[] = { 0.99, 1, 0, 0 },
                            unsafe[] = { 0.93, 0, 0, 0 };
        g_autoptr(Env) env = env_new("phydrl-cartpole");
        g_autoptr(Env) strict = env_with("phydrl-cartpole", "TerminateWhenUnsafe", "yes");

        set_state(env, far);
        env_step_number(env, 0);
        g_assert_true(env->step.terminated);
        set_state(env, unsafe);
        env_step_number(env, 0);
        g_assert_false(env->step.terminated);
        set_state(env, fast);
        env_step_number(env, 0);
        g_assert_true(env->step.terminated);

        set_state(strict, unsafe);
        env_step_number(strict, 0);
        g_assert_true(strict->step.terminated);
}

static void test_phy_disturbance(void) {
        g_autoptr(Env) calm = env_new("phydrl-cartpole");
        g_autoptr(Env) env = env_with("phydrl-cartpole", "Disturbance", "2");
        double a[NUMBERS_MAX], b[NUMBERS_MAX], sum = 0, most = 0;

        for (int i = 0; i < 2000; i++) {
                set_state(calm, phy_start);
                set_state(env, phy_start);
                env_step_number(calm, 0);
                env_step_number(env, 0);
                get_state(calm, a);
                get_state(env, b);
                sum += (b[1] - a[1]) * 30;
                most = fmax(most, fabs(b[1] - a[1]) * 30);
        }
        assert_near(sum / 2000, 0, 0.1); /* 2000 values of 2 (U - U'): five standard errors of their mean */
        g_assert_cmpfloat(most, >, 1.5);
        g_assert_cmpfloat(most, <=, 2 + 1e-9);
}

/* iot5g */

static void test_iot_error_rate(void) {
        static const struct {
                double state[7], log_ber;
        } rows[] = {
                /* computed in Python */
                { { 0.5, 0.6, 100, 0.3, 0, 0, 2 }, -3.7466114631319565 },
                { { 0.2, 0.5, 150, 0.3, 0, 0, 2 }, -0.8553745572332416 },
                { { 0.5, 0.45, 100, 0.3, 0, 0, 2 }, -1.3891523924607014 },
                { { 1, 0.1, 200, 1, 0, 0, 0 }, -0.6997047239414395 },
                { { 1, 1, 20, 0, 0, 0, 0 }, -9 },
        };
        g_autoptr(Env) env = env_new("iot5g-continuous");

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                set_state(env, rows[i].state);
                assert_near(9 * (double) env_observation(env)[0], rows[i].log_ber, 1e-6);
                assert_near((double) env_observation(env)[3], rows[i].state[2] / 200, 1e-7);
        }
}

static void test_iot_reward(void) {
        ActordOption options[] = { env_option("TargetLogBER", "-3"), env_option("BandwidthWeight", "2"),
                env_option("PowerWeight", "0.25") };
        g_autoptr(Env) env = env_new_with("iot5g-discrete", options, 3);

        env_reset(env, SEED);
        for (int i = 0; i < 200; i++) {
                const float *o = env_observation(env);

                step_choice(env, i % 9);
                assert_near(env->step.reward,
                                -fabs(9 * (double) o[0] + 3) - 2 * (double) o[1] - 0.25 * (double) o[2],
                                1e-5);
        }
}

/* A discrete move is half of the largest continuous one, and everything else is the same. */
static void test_iot_same_model(void) {
        g_autoptr(Env) discrete = env_new("iot5g-discrete"), continuous = env_new("iot5g-continuous");
        double a[NUMBERS_MAX], b[NUMBERS_MAX];

        env_reset(discrete, SEED);
        env_reset(continuous, SEED);
        for (int i = 0; i < 500; i++) {
                float move[2] = { 0.5f * (float) (i % 9 / 3 - 1), 0.5f * (float) (i % 9 % 3 - 1) };

                step_choice(discrete, i % 9);
                env_step(continuous, SEED, move);
                get_state(discrete, a);
                get_state(continuous, b);
                g_assert_cmpmem(a, 7 * sizeof(double), b, 7 * sizeof(double));
        }
}

/* The device reaches both ends of its sector and never leaves it. Bandwidth and power stay within their
 * ranges. */
static void test_iot_bounds(void) {
        g_autoptr(Env) env = env_new("iot5g-continuous");
        double state[NUMBERS_MAX], nearest = INFINITY, farthest = 0;

        env_reset(env, SEED);
        for (int i = 0; i < 20000; i++) {
                float move[2] = { 5, -5 };

                env_step(env, SEED, move);
                get_state(env, state);
                nearest = fmin(nearest, state[2]);
                farthest = fmax(farthest, state[2]);
                g_assert_cmpfloat(fabs(state[3]), <=, M_PI / 3);
                if (i > 10) {
                        g_assert_cmpfloat(state[0], ==, 1);
                        g_assert_cmpfloat(state[1], ==, 0);
                }
        }
        g_assert_cmpfloat(nearest, ==, 20);
        g_assert_cmpfloat(farthest, ==, 200);
}

/* The mean return of random actions, or of a rule (`ruled`). The rule takes a third of the bandwidth. From
 * the closed form of the bit error rate it computes by how many dB to change the power. */
static double iot_return(bool ruled) {
        g_autoptr(Env) env = env_new("iot5g-continuous");
        const float *o = env_observation(env);
        double sum = 0, wanted = 5 + log10(0.2);
        ActordRandom actions;

        random_begin(&actions, SEED, RANDOM_ACTION, 0, 0, 0);
        for (int i = 0; i < 50; i++) {
                env_reset(env, SEED);
                for (int k = 0; k < 200; k++) {
                        double had = fmax(-9 * (double) o[0] + log10(0.2), 1e-3);
                        float move[2] = { 10 * (0.35f - o[1]), (float) (10 * log10(wanted / had) / 4.3) };

                        for (int j = 0; j < 2 && !ruled; j++)
                                move[j] = (float) actord_random_uniform(&actions, -1, 1);
                        env_step(env, SEED, move);
                        sum += env->step.reward;
                }
        }
        return sum / 50;
}

static void test_iot_baselines(void) {
        double any = iot_return(false), ruled = iot_return(true);

        g_test_message("any action %.0f, by the closed form %.0f", any, ruled);
        g_assert_cmpfloat(ruled, >, any / 2);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);

        g_test_add_func("/domains/phydrl-cartpole/step", test_phy_step);
        g_test_add_func("/domains/phydrl-cartpole/options", test_phy_options);
        g_test_add_func("/domains/phydrl-cartpole/model-controller", test_phy_model_controller);
        g_test_add_func("/domains/phydrl-cartpole/ends", test_phy_ends);
        g_test_add_func("/domains/phydrl-cartpole/disturbance", test_phy_disturbance);
        g_test_add_func("/domains/iot5g/error-rate", test_iot_error_rate);
        g_test_add_func("/domains/iot5g/reward", test_iot_reward);
        g_test_add_func("/domains/iot5g/same-model", test_iot_same_model);
        g_test_add_func("/domains/iot5g/bounds", test_iot_bounds);
        g_test_add_func("/domains/iot5g/baselines", test_iot_baselines);

        return g_test_run();
}
