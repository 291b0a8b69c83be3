/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compares the MuJoCo tasks with Gymnasium, which runs the same models on a newer MuJoCo: compiled models,
 * first steps, and returns of random play. Also tests that the module survives errors for which MuJoCo
 * itself would end the process. */
#include <errno.h>

#include "tests/unit/mujoco-fixture.h"

/* Written by Gymnasium 1.4.0 on MuJoCo 4.0.0: fields of env.unwrapped.model (inertia0 is dof_M0, the
 * diagonal of the joint-space inertia at rest), then env.step(action) from the given state. */
/* clang-format off */
static const Reference references[] = {
        {
                .name = "Hopper-v4",
                .n_body = 5, .nq = 6, .nv = 6, .nu = 3,
                .mass = { 0, 3.66519142919, 4.05789051089, 2.78135669598, 5.31557476987 },
                .inertia0 = { 15.8200134059, 15.8200134059, 10.3765316495, 7.65718439895, 2.70101241013,
                  1.12598138399 },
                .damping = { 0, 0, 0, 1, 1, 1 },
                .stiffness = { 0, 0, 0, 0, 0, 0 },
                .range = { 0, 0, 0, 0, 0, 0, -2.61799387799, 0, -2.61799387799, 0, -0.785398163397,
                  0.785398163397 },
                .gear = { 200, 200, 200 },
                .qpos = { -0.004150390625, 1.24731445312, 0.0029296875, 0.000732421875, -0.004150390625,
                  -0.000732421875 },
                .qvel = { -0.000244140625, -0.00341796875, 0.00244140625, -0.00390625, -0.0009765625,
                  0.000244140625 },
                .steps = {
                        { { -0.125, 0.125, 0.5 }, 1.00821154, { 1.24690894, 0.00261460786, -0.00012470034,
                          -0.00357342358, 0.00211405557, 0.0172056628, -0.0979548308, -0.0811059947,
                          -0.210088418, 0.145091515, 0.710519496 } },
                        { { 0.875, -0.375, 0.25 }, 1.01398049, { 1.24579618, 0.00351355074, 0.00124344918,
                          -0.00474444245, 0.00929254009, -0.00286882147, -0.179536225, 0.0341611008,
                          0.216033829, -0.409402948, 1.08742589 } },
                        { { 0.375, -0.375, -1 }, 0.958095255, { 1.24418515, 0.00236977243, 0.00241944492,
                          -0.00966353209, 0.01233377, -0.0777081795, -0.223445648, -0.309567729,
                          0.0907037825, -0.821120643, -0.325624262 } },
                        { { 1, -0.375, -0.375 }, 0.893135502, { 1.24214186, -0.00116904519, 0.00299057604,
                          -0.0180887318, 0.00769539936, -0.133285509, -0.287715125, -0.572718756,
                          0.0549347284, -1.28493513, -0.833501227 } },
                        { { 0.75, 0.125, 0 }, 0.873202973, { 1.23951303, -0.00555869686, 0.00326799405,
                          -0.027653598, 0.00101175975, -0.118986547, -0.369373573, -0.521580768,
                          0.0183570851, -1.10679853, -0.837410543 } },
                        { { 0.5, -1, 0.375 }, 0.822958122, { 1.23621913, -0.0122744838, 0.00329576923,
                          -0.0419235887, -0.00321474174, -0.231984277, -0.455601191, -1.15389301,
                          -0.00801311245, -2.45950721, -0.220396753 } },
                },
        },
        {
                .name = "Walker2d-v4",
                .n_body = 8, .nq = 9, .nv = 9, .nu = 6,
                .mass = { 0, 3.66519142919, 4.05789051089, 2.78135669598, 3.16672539482, 4.05789051089,
                  2.78135669598, 3.16672539482 },
                .inertia0 = { 23.6771366326, 23.6771366326, 14.8594779971, 4.65753145455, 1.10348368296,
                  0.065665000583, 4.65753145455, 1.10348368296, 0.065665000583 },
                .damping = { 0, 0, 0, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1 },
                .stiffness = { 0, 0, 0, 0, 0, 0, 0, 0, 0 },
                .range = { 0, 0, 0, 0, 0, 0, -2.61799387799, 0, -2.61799387799, 0, -0.785398163397,
                  0.785398163397, -2.61799387799, 0, -2.61799387799, 0, -0.785398163397, 0.785398163397 },
                .gear = { 100, 100, 100, 100, 100, 100 },
                .qpos = { -0.004150390625, 1.24731445312, 0.0029296875, 0.000732421875, -0.004150390625,
                  -0.000732421875, -0.000244140625, -0.00341796875, 0.00244140625 },
                .qvel = { -0.00390625, -0.0009765625, 0.000244140625, -0.000732421875, 0.0009765625,
                  0.00244140625, 0.004638671875, -0.002197265625, 0.00146484375 },
                .steps = {
                        { { 0.375, -0.375, -1, 1, -0.375, -0.375 }, 0.908723771, { 1.24801806,
                          0.00310865727, 0.00151864005, -0.00220240702, -0.0563626818, 0.00448454732,
                          -0.0109253415, -0.0182070806, -0.182649639, 0.175751846, -0.14945786,
                          0.110647641, 0.263344654, -10, 0.679283819, -1.33212838, -5.35023893 } },
                        { { 0.75, 0.125, 0, 0.5, -1, 0.375 }, 0.653261116, { 1.24880279, -0.00416148347,
                          -0.000448353846, -0.00508226168, -0.163358294, 0.0103804194, -0.038190508,
                          -0.032831137, -0.506904781, 0.0163761138, -1.68251987, -0.623825155, -0.97898279,
                          -10, 0.763479936, -5.46450802, 1.63954187 } },
                        { { -0.25, -0.875, 0.375, 0.875, -0.625, 0.25 }, 0.229653969, { 1.24792364,
                          -0.0256389659, -0.00202370357, -0.0372257567, -0.224147628, 0.0156981458,
                          -0.0975894627, 0.000216025479, -1.02676239, -0.252514373, -3.67508413,
                          0.219821025, -7.00381217, -1.68643528, 0.57270024, -9.37295761, 6.52990501 } },
                        { { -0.375, 0.5, 0.5, -0.625, 0.625, 0.375 }, -0.0472090716, { 1.24472271,
                          -0.0842517201, -0.0491512662, -0.068071785, -0.213477706, -0.0323687609,
                          -0.13786148, 0.0648688151, -1.06101334, -0.571951158, -10, -10, -0.668780765,
                          4.12852324, -10, -0.699494978, 9.70183212 } },
                        { { 0.375, 0.625, -0.125, 0.5, 0.75, -0.75 }, 0.218359524, { 1.24050737,
                          -0.157409744, -0.134172011, -0.0655909647, -0.181967231, -0.124992767,
                          -0.1248318, 0.0935985285, -0.500353416, -0.466096581, -7.36429606, -9.32720741,
                          1.36044639, 3.51214073, -10, 3.93792434, -2.4354901 } },
                        { { 0.75, -0.25, 0, -0.75, 0.375, -0.375 }, 0.520471847, { 1.23639036,
                          -0.216528532, -0.202281377, -0.0685289374, -0.1466739, -0.220579746,
                          -0.0715709908, 0.0464522754, -0.454161962, -0.571065078, -7.41092996,
                          -7.69582584, -2.09616614, 5.31797414, -10, 9.40267282, -9.47775219 } },
                },
        },
        {
                .name = "HalfCheetah-v4",
                .n_body = 8, .nq = 9, .nv = 9, .nu = 6,
                .mass = { 0, 6.25020920502, 1.54351464435, 1.58744769874, 1.09539748954, 1.43807531381,
                  1.20083682008, 0.884518828452 },
                .inertia0 = { 14, 14, 3.65552874845, 0.614841396151, 0.293502035649, 0.117644875983,
                  0.504228058075, 0.208922347782, 0.109654402343 },
                .damping = { 0, 0, 0, 6, 4.5, 3, 4.5, 3, 1.5 },
                .stiffness = { 0, 0, 0, 240, 180, 120, 180, 120, 60 },
                .range = { 0, 0, 0, 0, 0, 0, -0.52, 1.05, -0.785, 0.785, -0.4, 0.785, -1, 0.7, -1.2, 0.87,
                  -0.5, 0.5 },
                .gear = { 120, 90, 60, 120, 60, 30 },
                .qpos = { -0.004150390625, -0.002685546875, 0.0029296875, 0.000732421875, -0.004150390625,
                  -0.000732421875, -0.000244140625, -0.00341796875, 0.00244140625 },
                .qvel = { -0.00390625, -0.0009765625, 0.000244140625, -0.000732421875, 0.0009765625,
                  0.00244140625, 0.004638671875, -0.002197265625, 0.00146484375 },
                .steps = {
                        { { 0.375, -0.375, -1, 1, -0.375, -0.375 }, 0.326989569, { -0.0245546105,
                          0.00717551737, 0.174668493, -0.147789986, -0.396164531, 0.381275375,
                          -0.231099068, -0.131987163, 0.725847654, -0.762758129, 0.0884860636, 3.79839678,
                          -3.24471179, -9.15419132, 10.1885743, -4.59764877, -3.60321867 } },
                        { { 0.75, 0.125, 0, 0.5, -1, 0.375 }, 0.234555953, { -0.0779081522, -0.0100351977,
                          0.291237262, -0.073903388, -0.246627594, 0.657937829, -0.408970134,
                          -0.0143924378, 0.238625198, -1.17177678, -0.658784164, 1.83650389, 3.37105254,
                          7.77384499, 1.74090499, -2.31391545, 5.1788808 } },
                        { { -0.25, -0.875, 0.375, 0.875, -0.625, 0.25 }, -0.191656601, { -0.11023238,
                          0.0742415517, 0.131213128, -0.104314145, 0.141546398, 0.601122982, -0.424979898,
                          0.187978777, 0.0356260946, -0.32884353, 3.15859287, -4.85587871, -2.51128524,
                          6.10110886, -2.32904324, 0.780902691, 2.73723241 } },
                        { { -0.375, 0.5, 0.5, -0.625, 0.625, 0.375 }, -0.667694667, { -0.075871457,
                          0.0711680274, -0.190513454, 0.127921753, 0.33463043, 0.242126137, -0.0258448814,
                          0.276532175, -0.727551705, 1.4086562, -1.94112105, -5.64575435, 5.91463915,
                          1.54841028, -7.33572552, 10.4418252, 1.65346945 } },
                        { { 0.375, 0.625, -0.125, 0.5, 0.75, -0.75 }, -0.176881831, { -0.0240975744,
                          -0.0250300841, -0.0797220029, 0.287808199, 0.00181625883, 0.122649585,
                          0.444116369, -0.063430241, 0.393697655, 0.793945338, -1.81065779, 6.00604202,
                          1.63782819, -8.17944206, 0.915406559, 6.22809457, -10.0917631 } },
                        { { 0.75, -0.25, 0, -0.75, 0.375, -0.375 }, 0.0312099732, { 0.0209009373,
                          -0.0613132827, 0.340845428, -0.0584608082, -0.144137183, -0.0776001168,
                          0.550363707, -0.33831041, -0.0930486789, 0.70291576, -0.386303963, 7.19887566,
                          -8.2677039, 0.621405712, -6.26227005, -1.19345068, -2.20768325 } },
                },
        },
        {
                .name = "InvertedPendulum-v4",
                .n_body = 3, .nq = 2, .nv = 2, .nu = 1,
                .mass = { 0, 10.471975512, 5.01859164136 },
                .inertia0 = { 15.4905671533, 0.640424269244 },
                .damping = { 1, 1 },
                .stiffness = { 0, 0 },
                .range = { -1, 1, -1.57079632679, 1.57079632679 },
                .gear = { 100 },
                .qpos = { -0.004150390625, -0.002685546875 },
                .qvel = { 0.0029296875, 0.000732421875 },
                .steps = {
                        { { -0.1875 }, 1, { -0.00527824922, 0.000200292192, -0.0591585571, 0.142146638 } },
                        { { -0.03125 }, 1, { -0.00783524261, 0.00622041934, -0.0687789843, 0.159807596 } },
                        { { 0 }, 1, { -0.0105800063, 0.0125835999, -0.0685825823, 0.159621158 } },
                        { { -0.15625 }, 1, { -0.0143706309, 0.0214883044, -0.120924621, 0.285612083 } },
                        { { 0.125 }, 1, { -0.0183854014, 0.031152875, -0.0801361812, 0.200745224 } },
                        { { -0.1875 }, 1, { -0.022881723, 0.0425594742, -0.144636707, 0.369469099 } },
                },
        },
};
/* clang-format on */

/* Gymnasium's returns and lengths in random play (RandomPlay), over 60,000 to 100,000 steps. */
static const RandomPlay plays[] = {
        { "Hopper-v4", 400, 18.2, 16.4, 22.0 },
        { "Walker2d-v4", 400, 2.56, 5.8, 21.0 },
        { "HalfCheetah-v4", 6, -267, 82, 1000 },
        { "InvertedPendulum-v4", 1000, 6.06, 3.46, 6.06 },
};

static void test_reset(void) {
        g_autoptr(Env) env = NULL;
        double low = INFINITY, high = -INFINITY;

        if (!have_module())
                return;

        env = env_new("Hopper-v4");
        for (int i = 0; i < 2000; i++) {
                const MujocoInstance *m = instance_of(env);

                env_reset(env, 5);
                for (int k = 0; k < 6; k++) {
                        double x = m->data->qpos[k] - m->model->qpos0[k], v = m->data->qvel[k];

                        low = fmin(low, fmin(x, v));
                        high = fmax(high, fmax(x, v));
                }
                g_assert_true(env_observation(env)[0] == (float) m->data->qpos[1]);
                g_assert_true(env_observation(env)[10] == (float) m->data->qvel[5]);
        }
        g_assert_true(low >= -5e-3 && low < -4.99e-3);
        g_assert_true(high <= 5e-3 && high > 4.99e-3);
}

static void test_velocity_is_clipped(void) {
        static const double qpos[6] = { 0, 5 }, qvel[6] = { 0, 0, 0, 50, -50, 0 };
        const float action[3] = {};
        g_autoptr(Env) env = NULL;

        if (!have_module())
                return;

        env = env_new("Hopper-v4");
        env_set(env, qpos, qvel, NULL);
        env_step(env, 0, action);
        g_assert_true(env_observation(env)[8] == 10);
        g_assert_true(env_observation(env)[9] == -10);
}

/* One step of Hopper from this height and angle, its leg drawn in so that it does not reach the floor. */
static ActordStep step_from(Env *env, double z, double angle) {
        const double qpos[6] = { 0, z, angle, -1.5, -2.5 }, qvel[6] = {};
        const float action[3] = { 1, -0.5f, 0 };

        env_set(env, qpos, qvel, NULL);
        env_step(env, 0, action);
        return env->step;
}

static void test_health(void) {
        const ActordOption options[] = {
                env_option("HealthyZMin", "2"),
                env_option("HealthyAngleMax", "0.5"),
                env_option("TerminateWhenUnhealthy", "no"),
                env_option("HealthyReward", "3"),
                env_option("CtrlCostWeight", "2"),
                env_option("ForwardRewardWeight", "0"),
        };
        g_autoptr(Env) usual = NULL, other = NULL, forgiving = NULL;

        if (!have_module())
                return;

        usual = env_new("Hopper-v4");
        g_assert_cmpuint(step_from(usual, 1.25, 0).terminated, ==, 0);
        g_assert_cmpuint(step_from(usual, 5, 0).terminated, ==, 0);
        g_assert_cmpuint(step_from(usual, 0.71, 0).terminated, ==, 0);
        g_assert_cmpuint(step_from(usual, 0.69, 0).terminated, ==, 1);
        g_assert_cmpuint(step_from(usual, 5, 0.21).terminated, ==, 1);
        g_assert_cmpuint(step_from(usual, 5, -0.21).terminated, ==, 1);

        other = env_new_with("Hopper-v4", options, 2);
        g_assert_cmpuint(step_from(other, 1.25, 0).terminated, ==, 1);
        g_assert_cmpuint(step_from(other, 5, 0.4).terminated, ==, 0);

        /* The reward is 3 while the hopper is healthy, minus 2 * (1 + 0.25) for the action; the hopper does
         * not move. */
        forgiving = env_new_with("Hopper-v4", options, 6);
        g_assert_true(step_from(forgiving, 5, 0).reward == 3 - 2.5);
        g_assert_true(step_from(forgiving, 1.25, 0).reward == -2.5);
        g_assert_cmpuint(step_from(forgiving, 1.25, 0).terminated, ==, 0);
}

static void test_positions_included(void) {
        const ActordOption options[] = { env_option("ExcludeCurrentPositions", "no"),
                env_option("ResetNoiseScale", "0") };
        g_autoptr(Env) env = NULL;

        if (!have_module())
                return;

        env = env_new_with("Hopper-v4", options, 2);
        g_assert_cmpuint(env->spec.observation.shape[0], ==, 12);
        env_reset(env, 1);
        g_assert_true(env_observation(env)[0] == 0);
        g_assert_true(env_observation(env)[1] == 1.25f);
}

static void test_engine(void) {
        ActordOption engine = env_option("Engine", "2.2.2");
        const ActordEnv *abi;
        ActordEnvSpec spec;

        if (!have_module())
                return;

        abi = env_find("Hopper-v4");
        g_assert_cmpint(abi->spec(&engine, 1, &spec), ==, 0);
        engine = env_option("Engine", "3.1.4");
        g_assert_cmpint(abi->spec(&engine, 1, &spec), ==, -EINVAL);
}

/* All instances share one model, which the invoker loads once, before it forks. */
static void test_model_is_shared(void) {
        g_autoptr(Env) a = NULL, b = NULL;

        if (!have_module())
                return;

        a = env_new("Hopper-v4");
        b = env_new("Hopper-v4");
        g_assert_true(instance_of(a)->model == instance_of(b)->model);
        g_assert_true(instance_of(a)->data != instance_of(b)->data);
}

/* A simulation that diverges is an error. By itself MuJoCo would put the robot back to its initial state and
 * carry on. */
static void test_divergence(void) {
        static const double qpos[6] = { 0, 1.25 }, qvel[6] = { 0, 1e12 };
        const float action[3] = {};
        g_autoptr(Env) env = NULL;

        if (!have_module())
                return;

        env = env_new("Hopper-v4");
        env_set(env, qpos, qvel, NULL);
        g_assert_cmpint(env_try_step(env, 0, action), ==, -EIO);

        env_reset(env, 1);
        g_assert_cmpint(env_try_step(env, 0, action), ==, 0);
}

static void (*raise_error)(const char *message);

static void control_that_fails(const mjModel *m, mjData *d) {
        raise_error("deliberately, by a test");
}

/* An error inside MuJoCo fails the step. By itself MuJoCo would print it and exit. */
static void test_error(void) {
        const float action[3] = {};
        mjfGeneric *control;
        g_autoptr(Env) env = NULL;
        void *library;

        if (!have_module())
                return;

        env = env_new("Hopper-v4");
        env_reset(env, 1);

        library = dlopen("libmujoco.so.2.2.2", RTLD_NOW | RTLD_NOLOAD);
        g_assert_nonnull(library);
        raise_error = (void (*)(const char *)) dlsym(library, "mju_error");
        control = dlsym(library, "mjcb_control");
        g_assert_true(raise_error && control);

        *control = control_that_fails;
        g_assert_cmpint(env_try_step(env, 0, action), ==, -EIO);
        *control = NULL;

        env_reset(env, 1);
        g_assert_cmpint(env_try_step(env, 0, action), ==, 0);
        dlclose(library);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);

        for (size_t i = 0; i < G_N_ELEMENTS(references); i++)
                add_reference("mujoco", &references[i]);
        for (size_t i = 0; i < G_N_ELEMENTS(plays); i++)
                add_random_play("mujoco", &plays[i]);
        g_test_add_func("/mujoco/reset", test_reset);
        g_test_add_func("/mujoco/velocity-is-clipped", test_velocity_is_clipped);
        g_test_add_func("/mujoco/health", test_health);
        g_test_add_func("/mujoco/positions-included", test_positions_included);
        g_test_add_func("/mujoco/engine", test_engine);
        g_test_add_func("/mujoco/model-is-shared", test_model_is_shared);
        g_test_add_func("/mujoco/divergence", test_divergence);
        g_test_add_func("/mujoco/error", test_error);

        return g_test_run();
}
