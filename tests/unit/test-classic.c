/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The classic control tasks against numbers of Gymnasium itself: from the same state, under the same
 * actions, the same states, rewards and ends. Snapshots of these tasks are their states, which is how a
 * state is set here. */
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
          { 1, { 0.0096, 0.174679195747555, 0.0308, -0.243068717960008 }, 1, false },
          { 0, { 0.0130935839149511, -0.020868848948192, 0.0259386256407998, 0.0591679999394166 }, 1, false },
          { 0, { 0.0126762069359873, -0.216352921046128, 0.0271219856395882, 0.359920571378414 }, 1, false },
          { 1, { 0.00834914851506471, -0.0216267991994882, 0.0343203970671564, 0.0759116989474441 }, 1, false },
          { 1, { 0.00791661253107495, 0.17298676004769, 0.0358386310461053, -0.205748515826774 }, 1, false },
          { 1, { 0.0113763477320288, 0.367578372567547, 0.0317236607295698, -0.486914201344508 }, 1, false },
          { 1, { 0.0187279151833797, 0.562238672143041, 0.0219853767026797, -0.769432542860696 }, 1, false },
          { 1, { 0.0299726886262405, 0.757051230982473, 0.00659672584546575, -1.05511758093394 }, 1, false },
        }, 8 },
        { "CartPole-v1", 4, { 2.39, 0.6, -0.1, 1.5 }, {
          { 0, { 2.402, 0.406224821449084, -0.07, 1.75985964018431 }, 1, true },
        }, 1 },
        { "CartPole-v1", 4, { -2.39, -0.4, 0.1, -0.5 }, {
          { 1, { -2.398, -0.206419476403296, 0.09, -0.759569116448965 }, 1, false },
        }, 1 },
        { "CartPole-v1", 4, { 0.1, 0.2, 0.2, 0.5 }, {
          { 1, { 0.104, 0.39182400259834, 0.21, 0.276408342592201 }, 1, true },
        }, 1 },
        { "CartPole-v1", 4, { 0.1, 0.2, -0.2, -0.4 }, {
          { 0, { 0.104, 0.00819339130421559, -0.208, -0.176433913366031 }, 1, false },
        }, 1 },
        { "Pendulum-v1", 2, { 3.0, 0.9 }, {
          { 0.5, { 3.05404200030224, 1.0808400060449 }, -9.08125, false },
          { -2, { 3.09636295742252, 0.846419142405481 }, -9.44799405147685, false },
          { 1.25, { 3.1497544499111, 1.06782984977154 }, -9.66066860056137, false },
          { 2, { 3.21783987843572, 1.36170857049252 }, -9.93641499608866, false },
          { 0, { 3.28306880568505, 1.30457854498666 }, -9.58176762061618, false },
          { -0.75, { 3.33738505775325, 1.0863250413639 }, -9.17145404054374, false },
          { 2, { 3.39940591505999, 1.24041714613474 }, -8.79974931906969, false },
          { 2, { 3.46686552123975, 1.34919212359517 }, -8.47404705205619, false },
        }, 8 },
        { "Pendulum-v1", 2, { -4.5, -7.9 }, {
          { -2, { -4.87334262058756, -7.46685241175118 }, -9.42474983974116, false },
          { -2, { -5.22466993234093, -7.02654623506747 }, -7.56704489482446, false },
          { 2, { -5.52831116674054, -6.0728246879921 }, -6.0616899981239, false },
        }, 3 },
        { "Acrobot-v1", 4, { 0.0625, -0.03125, 0.09375, 0.015625 }, {
          { 2, { 0.0590713185347186, 0.0156103902769701, -0.125577577056124, 0.443816144106794 }, -1, false },
          { 0, { 0.041943390810812, 0.0700040719132732, -0.0407670834642325, 0.088582305137315 }, -1, false },
          { 1, { 0.0304288462228986, 0.0835075540081927, -0.0716148281349348, 0.0423589623068504 }, -1, false },
          { 2, { 0.00134876613929825, 0.119667383665013, -0.211938974228941, 0.308056292924386 }, -1, false },
          { 0, { -0.0236691500962691, 0.131445756737141, -0.0330779311107992, -0.195521921993143 }, -1, false },
          { 2, { -0.0381874447200642, 0.111993364751505, -0.109684887956832, 0.00192536163344173 }, -1, false },
          { 2, { -0.0657540070122153, 0.130841958505479, -0.159724618647521, 0.178879061687904 }, -1, false },
          { 1, { -0.0857981758932736, 0.14490943310077, -0.0364173973681527, -0.0432978204378202 }, -1, false },
        }, 8 },
        { "Acrobot-v1", 4, { 2.5, 0.5, 1.5, 4.0 }, {
          { 2, { 2.81513721007376, 1.30239781197565, 1.83711403050427, 3.9053794124992 }, 0, true },
          { 2, { -2.98065133318341, 2.01543090589632, 3.17983019907616, 3.06201878765841 }, -1, false },
          { 2, { -2.1614563171105, 2.45102745551879, 5.04621956920713, 1.06223567280524 }, -1, false },
        }, 3 },
        { "MountainCar-v0", 2, { -0.5, 0.0 }, {
          { 0, { -0.501176843004169, -0.00117684300416926 }, -1, false },
          { 2, { -0.501521723716182, -0.000344880712013014 }, -1, false },
          { 1, { -0.502032061290803, -0.000510337574620619 }, -1, false },
          { 2, { -0.50170403639559, 0.000328024895212682 }, -1, false },
          { 2, { -0.500540103991089, 0.00116393240450146 }, -1, false },
          { 0, { -0.500548973727707, -8.86973661795294e-06 }, -1, false },
          { 0, { -0.501730579241462, -0.00118160551375512 }, -1, false },
          { 1, { -0.503076078603348, -0.00134549936188624 }, -1, false },
        }, 8 },
        { "MountainCar-v0", 2, { -1.19, -0.05 }, {
          { 0, { -1.2, 0 }, -1, false },
          { 2, { -1.19675810395916, 0.00324189604083537 }, -1, false },
        }, 2 },
        { "MountainCar-v0", 2, { 0.47, 0.05 }, {
          { 2, { 0.520599739221113, 0.0505997392211129 }, -1, true },
        }, 1 },
        { "MountainCarContinuous-v0", 2, { -0.5, 0.0 }, {
          { 0.5, { -0.49942684173584, 0.000573156983591616 }, -0.025, false },
          { -1, { -0.50053483247757, -0.00110797362867743 }, -0.1, false },
          { 1, { -0.50031566619873, 0.000219184934394434 }, -0.1, false },
          { 0.25, { -0.499895960092545, 0.000419703574152663 }, -0.00625, false },
          { 0, { -0.499653875827789, 0.000242082314798608 }, 0, false },
          { -0.75, { -0.500716209411621, -0.00106234988197684 }, -0.05625, false },
        }, 6 },
        { "MountainCarContinuous-v0", 2, { 0.44, 0.05 }, {
          { 1, { 0.490879565477371, 0.0508795604109764 }, 99.9, true },
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
        /* Sines may differ in the last bit between NumPy's and libm's. The continuous car is computed in
         * float32 by NumPy 2. */
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

/* The observation of a state, as the task's definition says it. */
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

/* Each part of the state uniform between its bounds at reset: range, mean and variance. */
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

        /* Five standard deviations of a mean of N uniform numbers, and of their squares. */
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

/* A policy that balances goes on past the horizon: an episode's length is not the environment's business. */
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

/* Bounds are part of the allowed range: only what lies beyond ends an episode. Without speed a step of 20
 * ms leaves position and angle as they are. */
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

/* wrap() would never end on such an angle. */
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
