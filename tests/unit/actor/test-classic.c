/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compares the classic control tasks with numbers that Gymnasium gave: from the same state and with the same
 * actions they must go through the same states, rewards and ends. A snapshot of these tasks is the state, so
 * restoring one sets the state. */
#include "tests/unit/env-fixture.h"

enum { STATE_MAX = 4, ROWS_MAX = 8 };

typedef struct Row {
        double action, state[STATE_MAX], reward;
        bool terminated;
} Row;

typedef struct Trajectory {
        const char *name;
        size_t n_state;
        double start[STATE_MAX];
        Row rows[ROWS_MAX];
        size_t n_rows;
} Trajectory;

/* Written by Gymnasium 1.4.0 with NumPy 2 on Python 3.11: env.unwrapped.state = start; env.step(action);
 * repr(). */
/* clang-format off */
static const Trajectory trajectories[] = {
        { "CartPole-v1", 4, { 0.01, -0.02, 0.03, 0.04 }, {
          { 1, { 0.0096, 0.17467919574756, 0.0308, -0.24306871796001 }, 1, false },
          { 0, { 0.013093583914951, -0.020868848948192, 0.0259386256408, 0.059167999939417 }, 1, false },
          { 0, { 0.012676206935987, -0.21635292104613, 0.027121985639588, 0.35992057137841 }, 1, false },
          { 1, { 0.0083491485150647, -0.021626799199488, 0.034320397067156, 0.075911698947444 }, 1, false },
          { 1, { 0.0079166125310749, 0.17298676004769, 0.035838631046105, -0.20574851582677 }, 1, false },
          { 1, { 0.011376347732029, 0.36757837256755, 0.03172366072957, -0.48691420134451 }, 1, false },
          { 1, { 0.01872791518338, 0.56223867214304, 0.02198537670268, -0.7694325428607 }, 1, false },
          { 1, { 0.029972688626241, 0.75705123098247, 0.0065967258454658, -1.0551175809339 }, 1, false },
        }, 8 },
        { "CartPole-v1", 4, { 2.39, 0.6, -0.1, 1.5 }, {
          { 0, { 2.402, 0.40622482144908, -0.07, 1.7598596401843 }, 1, true },
        }, 1 },
        { "CartPole-v1", 4, { -2.39, -0.4, 0.1, -0.5 }, {
          { 1, { -2.398, -0.2064194764033, 0.09, -0.75956911644897 }, 1, false },
        }, 1 },
        { "CartPole-v1", 4, { 0.1, 0.2, 0.2, 0.5 }, {
          { 1, { 0.104, 0.39182400259834, 0.21, 0.2764083425922 }, 1, true },
        }, 1 },
        { "CartPole-v1", 4, { 0.1, 0.2, -0.2, -0.4 }, {
          { 0, { 0.104, 0.0081933913042156, -0.208, -0.17643391336603 }, 1, false },
        }, 1 },
        { "Pendulum-v1", 2, { 3.0, 0.9 }, {
          { 0.5, { 3.0540420003022, 1.0808400060449 }, -9.08125, false },
          { -2, { 3.0963629574225, 0.84641914240548 }, -9.4479940514768, false },
          { 1.25, { 3.1497544499111, 1.0678298497715 }, -9.6606686005614, false },
          { 2, { 3.2178398784357, 1.3617085704925 }, -9.9364149960887, false },
          { 0, { 3.2830688056851, 1.3045785449867 }, -9.5817676206162, false },
          { -0.75, { 3.3373850577533, 1.0863250413639 }, -9.1714540405437, false },
          { 2, { 3.39940591506, 1.2404171461347 }, -8.7997493190697, false },
          { 2, { 3.4668655212397, 1.3491921235952 }, -8.4740470520562, false },
        }, 8 },
        { "Pendulum-v1", 2, { -4.5, -7.9 }, {
          { -2, { -4.8733426205876, -7.4668524117512 }, -9.4247498397412, false },
          { -2, { -5.2246699323409, -7.0265462350675 }, -7.5670448948245, false },
          { 2, { -5.5283111667405, -6.0728246879921 }, -6.0616899981239, false },
        }, 3 },
        { "Acrobot-v1", 4, { 0.0625, -0.03125, 0.09375, 0.015625 }, {
          { 2, { 0.059071318534719, 0.01561039027697, -0.12557757705612, 0.44381614410679 }, -1, false },
          { 0, { 0.041943390810812, 0.070004071913273, -0.040767083464232, 0.088582305137315 }, -1, false },
          { 1, { 0.030428846222899, 0.083507554008193, -0.071614828134935, 0.04235896230685 }, -1, false },
          { 2, { 0.0013487661392983, 0.11966738366501, -0.21193897422894, 0.30805629292439 }, -1, false },
          { 0, { -0.023669150096269, 0.13144575673714, -0.033077931110799, -0.19552192199314 }, -1, false },
          { 2, { -0.038187444720064, 0.1119933647515, -0.10968488795683, 0.0019253616334417 }, -1, false },
          { 2, { -0.065754007012215, 0.13084195850548, -0.15972461864752, 0.1788790616879 }, -1, false },
          { 1, { -0.085798175893274, 0.14490943310077, -0.036417397368153, -0.04329782043782 }, -1, false },
        }, 8 },
        { "Acrobot-v1", 4, { 2.5, 0.5, 1.5, 4.0 }, {
          { 2, { 2.8151372100738, 1.3023978119756, 1.8371140305043, 3.9053794124992 }, 0, true },
          { 2, { -2.9806513331834, 2.0154309058963, 3.1798301990762, 3.0620187876584 }, -1, false },
          { 2, { -2.1614563171105, 2.4510274555188, 5.0462195692071, 1.0622356728052 }, -1, false },
        }, 3 },
        { "MountainCar-v0", 2, { -0.5, 0.0 }, {
          { 0, { -0.50117684300417, -0.0011768430041693 }, -1, false },
          { 2, { -0.50152172371618, -0.00034488071201301 }, -1, false },
          { 1, { -0.5020320612908, -0.00051033757462062 }, -1, false },
          { 2, { -0.50170403639559, 0.00032802489521268 }, -1, false },
          { 2, { -0.50054010399109, 0.0011639324045015 }, -1, false },
          { 0, { -0.50054897372771, -8.8697366179529e-06 }, -1, false },
          { 0, { -0.50173057924146, -0.0011816055137551 }, -1, false },
          { 1, { -0.50307607860335, -0.0013454993618862 }, -1, false },
        }, 8 },
        { "MountainCar-v0", 2, { -1.19, -0.05 }, {
          { 0, { -1.2, 0 }, -1, false },
          { 2, { -1.1967581039592, 0.0032418960408354 }, -1, false },
        }, 2 },
        { "MountainCar-v0", 2, { 0.47, 0.05 }, {
          { 2, { 0.52059973922111, 0.050599739221113 }, -1, true },
        }, 1 },
        { "MountainCarContinuous-v0", 2, { -0.5, 0.0 }, {
          { 0.5, { -0.49942684173584, 0.00057315698359162 }, -0.025, false },
          { -1, { -0.50053483247757, -0.0011079736286774 }, -0.1, false },
          { 1, { -0.50031566619873, 0.00021918493439443 }, -0.1, false },
          { 0.25, { -0.49989596009254, 0.00041970357415266 }, -0.00625, false },
          { 0, { -0.49965387582779, 0.00024208231479861 }, 0, false },
          { -0.75, { -0.50071620941162, -0.0010623498819768 }, -0.05625, false },
        }, 6 },
        { "MountainCarContinuous-v0", 2, { 0.44, 0.05 }, {
          { 1, { 0.49087956547737, 0.050879560410976 }, 99.9, true },
        }, 1 },
};
/* clang-format on */

static void env_set(Env *env, const double *state, size_t n) {
        g_assert_cmpuint(env->spec.snapshot_bytes, ==, n * sizeof(double));
        g_assert_cmpint(env->abi->restore(env->instance, state), ==, 0);
}

static void assert_near(double x, double expected, double tolerance) {
        if (!(fabs(x - expected) <= tolerance * fmax(1, fabs(expected))))
                g_error("%.17g is not %.17g", x, expected);
}

static void test_trajectory(gconstpointer data) {
        const Trajectory *t = data;
        g_autoptr(Env) env = env_new(t->name);
        /* Sines of NumPy and of the C library may differ in the last bit. NumPy 2 computes the continuous
         * mountain car in float32. */
        double tolerance = strcmp(t->name, "MountainCarContinuous-v0") == 0 ? 1e-6 : 1e-13;

        env_reset(env, 1);
        env_set(env, t->start, t->n_state);

        for (size_t i = 0; i < t->n_rows; i++) {
                double state[STATE_MAX];

                env_step_number(env, t->rows[i].action);
                g_assert_cmpint(env->abi->snapshot(env->instance, state), ==, 0);
                for (size_t k = 0; k < t->n_state; k++)
                        assert_near(state[k], t->rows[i].state[k], tolerance);
                assert_near(env->step.reward, t->rows[i].reward, tolerance);
                g_assert_cmpuint(env->step.terminated, ==, t->rows[i].terminated);
        }
}

/* Compares each task's observation with the formula in the task's definition. */
static void test_observations(void) {
        g_autoptr(Env) cartpole = env_new("CartPole-v1"), pendulum = env_new("Pendulum-v1");
        g_autoptr(Env) acrobot = env_new("Acrobot-v1"), car = env_new("MountainCar-v0");
        double s[STATE_MAX];

        env_reset(cartpole, 1);
        cartpole->abi->snapshot(cartpole->instance, s);
        for (int i = 0; i < 4; i++)
                g_assert_true(env_observation(cartpole)[i] == (float) s[i]);

        env_reset(pendulum, 1);
        pendulum->abi->snapshot(pendulum->instance, s);
        g_assert_true(env_observation(pendulum)[0] == (float) cos(s[0]));
        g_assert_true(env_observation(pendulum)[1] == (float) sin(s[0]));
        g_assert_true(env_observation(pendulum)[2] == (float) s[1]);

        env_reset(acrobot, 1);
        acrobot->abi->snapshot(acrobot->instance, s);
        for (int i = 0; i < 2; i++) {
                g_assert_true(env_observation(acrobot)[2 * i] == (float) cos(s[i]));
                g_assert_true(env_observation(acrobot)[2 * i + 1] == (float) sin(s[i]));
                g_assert_true(env_observation(acrobot)[4 + i] == (float) s[2 + i]);
        }

        env_reset(car, 1);
        car->abi->snapshot(car->instance, s);
        for (int i = 0; i < 2; i++)
                g_assert_true(env_observation(car)[i] == (float) s[i]);
}

/* Checks that a reset draws each part of the state uniformly between its bounds: its range, mean and
 * variance. */
static void assert_reset_uniform(const char *name, const double (*bounds)[2], size_t n_state) {
        enum { N = 20000 };
        g_autoptr(Env) env = env_new(name);
        double sum[STATE_MAX] = {}, squares[STATE_MAX] = {};

        for (int i = 0; i < N; i++) {
                double s[STATE_MAX];

                env_reset(env, 5);
                env->abi->snapshot(env->instance, s);
                for (size_t k = 0; k < n_state; k++) {
                        double unit = bounds[k][0] < bounds[k][1]
                                                      ? (s[k] - bounds[k][0]) / (bounds[k][1] - bounds[k][0])
                                                      : 0.5;

                        /* Acrobot rounds to float32, which may reach the bound. */
                        g_assert_true(unit >= 0 && unit <= 1 + 1e-6);
                        g_assert_true(bounds[k][0] < bounds[k][1] || s[k] == bounds[k][0]);
                        sum[k] += unit;
                        squares[k] += unit * unit;
                }
        }

        /* The bounds are five standard deviations of the mean of N uniform numbers, and of the mean of their
         * squares. */
        for (size_t k = 0; k < n_state; k++)
                if (bounds[k][0] < bounds[k][1]) {
                        g_assert_cmpfloat(fabs(sum[k] / N - 0.5), <, 5 * sqrt(1 / 12.0 / N));
                        g_assert_cmpfloat(fabs(squares[k] / N - 1 / 3.0), <, 5 * sqrt(4 / 45.0 / N));
                }
}

static void test_reset(void) {
        static const double cartpole[][2] = { { -0.05, 0.05 }, { -0.05, 0.05 }, { -0.05, 0.05 },
                { -0.05, 0.05 } };
        static const double pendulum[][2] = { { -M_PI, M_PI }, { -1, 1 } };
        static const double acrobot[][2] = { { -0.1, 0.1 }, { -0.1, 0.1 }, { -0.1, 0.1 }, { -0.1, 0.1 } };
        static const double car[][2] = { { -0.6, -0.4 }, { 0, 0 } };

        assert_reset_uniform("CartPole-v0", cartpole, 4);
        assert_reset_uniform("CartPole-v1", cartpole, 4);
        assert_reset_uniform("Pendulum-v1", pendulum, 2);
        assert_reset_uniform("Acrobot-v1", acrobot, 4);
        assert_reset_uniform("MountainCar-v0", car, 2);
        assert_reset_uniform("MountainCarContinuous-v0", car, 2);
}

/* A policy that balances goes on past the horizon: the caller ends an episode there, not the environment. */
static void test_cartpole_goes_on(void) {
        g_autoptr(Env) env = env_new("CartPole-v1");

        env_reset(env, 1);
        for (uint32_t i = 0; i < 4 * env->spec.horizon_steps; i++) {
                const float *s = env_observation(env);

                env_step_number(env, 0.05f * s[0] + 0.1f * s[1] + s[2] + s[3] > 0);
                g_assert_cmpuint(env->step.terminated, ==, 0);
                g_assert_true(env->step.reward == 1);
        }
}

/* Bounds are part of the allowed range: an episode ends only beyond them. At speed 0 a step of 20 ms
 * leaves position and angle as they are. */
static void test_cartpole_limits(void) {
        const double angle = 12 * 2 * M_PI / 360;
        const struct {
                double x, theta;
                bool terminated;
        } cases[] = {
                { 2.4, 0, false },
                { nextafter(2.4, 3), 0, true },
                { 0, angle, false },
                { 0, nextafter(angle, 1), true },
                { -2.4, 0, false },
                { nextafter(-2.4, -3), 0, true },
                { 0, -angle, false },
                { 0, nextafter(-angle, -1), true },
        };
        g_autoptr(Env) env = env_new("CartPole-v1");

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                env_set(env, (double[]){ cases[i].x, 0, cases[i].theta, 0 }, 4);
                env_step_number(env, 1);
                g_assert_cmpuint(env->step.terminated, ==, cases[i].terminated);
        }
}

static void test_options(void) {
        const ActordOption sutton = env_option("SuttonBartoReward", "yes"),
                           moon = env_option("Gravity", "1.62");
        const ActordOption fast = env_option("GoalVelocity", "0.06");
        g_autoptr(Env) cartpole = env_new_with("CartPole-v1", &sutton, 1);
        g_autoptr(Env) pendulum = env_new_with("Pendulum-v1", &moon, 1);
        g_autoptr(Env) car = env_new_with("MountainCar-v0", &fast, 1);
        double s[2];

        env_set(cartpole, (double[]){ 0, 0, 0, 0 }, 4);
        env_step_number(cartpole, 1);
        g_assert_true(cartpole->step.reward == 0);
        env_set(cartpole, (double[]){ 3, 0, 0, 0 }, 4);
        env_step_number(cartpole, 1);
        g_assert_true(cartpole->step.reward == -1);

        env_set(pendulum, (double[]){ M_PI / 2, 0 }, 2);
        env_step_number(pendulum, 0);
        pendulum->abi->snapshot(pendulum->instance, s);
        assert_near(s[1], 1.5 * 1.62 * 0.05, 1e-13);

        env_set(car, (double[]){ 0.47, 0.05 }, 2);
        env_step_number(car, 2);
        g_assert_cmpuint(car->step.terminated, ==, 0);
}

/* Acrobot refuses angles on which wrap() would never end. */
static void test_acrobot_refuses_impossible_states(void) {
        g_autoptr(Env) env = env_new("Acrobot-v1");

        g_assert_cmpint(env->abi->restore(env->instance, (double[]){ 1e300, 0, 0, 0 }), <, 0);
        g_assert_cmpint(env->abi->restore(env->instance, (double[]){ 0, 0, 0, 1e300 }), <, 0);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);

        for (size_t i = 0; i < G_N_ELEMENTS(trajectories); i++) {
                g_autofree char *path =
                                g_strdup_printf("/classic/gymnasium/%s/%zu", trajectories[i].name, i);

                g_test_add_data_func(path, &trajectories[i], test_trajectory);
        }
        g_test_add_func("/classic/observations", test_observations);
        g_test_add_func("/classic/reset", test_reset);
        g_test_add_func("/classic/cartpole-goes-on", test_cartpole_goes_on);
        g_test_add_func("/classic/cartpole-limits", test_cartpole_limits);
        g_test_add_func("/classic/options", test_options);
        g_test_add_func("/classic/acrobot-impossible", test_acrobot_refuses_impossible_states);

        return g_test_run();
}
