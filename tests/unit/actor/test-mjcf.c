/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests models from files. Hopper's model, with Reward= and Terminate= set to Hopper's rules, gives the same
 * numbers as the built-in Hopper. The other tests cover what else the author of a model relies on. */
#include <fcntl.h>
#include <glib/gstdio.h>

#include "tests/unit/mujoco-fixture.h"

static JobSettings settings;
static int directory_fd = -1;
static char *scratch; /* where models are written */

static char *source(const char *name) {
        return g_build_filename(g_getenv("ACTORD_SOURCE") ?: ".", name, NULL);
}

/* The environment of a model file; NULL: the module is not built. */
static const ActordEnv *model_open(const char *directory, const char *file) {
        const ActordEnv *(*of_model)(const JobSettings *settings, int model_fd);

        if (!have_module())
                return NULL;
        of_model = (const ActordEnv *(*) (const JobSettings *, int) ) dlsym(
                        env_module("mujoco"), "actord_mjcf_env");
        g_assert_nonnull(of_model);
        if (directory_fd >= 0)
                (void) close(directory_fd);
        directory_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        g_assert_cmpint(directory_fd, >=, 0);
        (void) snprintf(settings.environment, sizeof(settings.environment), "mujoco:%s", file);
        return of_model(&settings, directory_fd);
}

static const ActordEnv *model_write(const char *text) {
        g_autofree char *path = g_build_filename(scratch, "model.xml", NULL);

        g_assert_true(g_file_set_contents(path, text, -1, NULL));
        return model_open(scratch, "model.xml");
}

static void scratch_remove(void) {
        g_autofree char *path = g_build_filename(scratch, "model.xml", NULL);

        (void) g_unlink(path);
        (void) g_rmdir(scratch);
        g_clear_pointer(&scratch, g_free);
}

#define HOPPER_TERMS(alive)                                                                                \
        env_option("FrameSkip", "4"), env_option("ResetNoise", "0.005"), env_option("SkipPositions", "1"), \
                        env_option("VelocityClip", "10"),                                                  \
                        env_option("Reward", "velocity rootx 1, " alive " 1, control -0.001"),             \
                        env_option("Terminate",                                                            \
                                        "position rootz <= 0.7, abs position rooty >= 0.2, largest >= 100")

static void test_hopper(gconstpointer version) {
        const char *name = version;
        const ActordOption v4[] = { HOPPER_TERMS("alive") }, v5[] = { HOPPER_TERMS("healthy") };
        g_autofree char *directory = source("actor/envs/mujoco");
        const ActordEnv *abi = model_open(directory, "hopper.xml");
        g_autoptr(Env) ours = NULL, built_in = NULL;
        ActordRandom actions;
        int n_ends = 0;

        if (!abi)
                return;
        built_in = env_new(name);
        ours = env_new_of(abi, g_str_has_suffix(name, "v4") ? v4 : v5, G_N_ELEMENTS(v4));
        g_assert_cmpmem(&ours->spec.observation, sizeof(ActordSpace), &built_in->spec.observation,
                        sizeof(ActordSpace));
        g_assert_cmpmem(&ours->spec.action, sizeof(ActordSpace), &built_in->spec.action,
                        sizeof(ActordSpace));
        g_assert_cmpuint(ours->spec.horizon_steps, ==, built_in->spec.horizon_steps);

        random_begin(&actions, 8, RANDOM_ACTION, 0, 0, 0);
        env_reset(ours, 8);
        env_reset(built_in, 8);
        for (int i = 0; i < 2000; i++) {
                uint32_t action[32];

                g_assert_cmpmem(ours->observation, ours->observation_bytes, built_in->observation,
                                built_in->observation_bytes);
                action_draw(&ours->spec, &actions, action);
                env_step(ours, 8, action);
                env_step(built_in, 8, action);
                g_assert_cmpfloat(ours->step.reward, ==, built_in->step.reward);
                g_assert_cmpuint(ours->step.terminated, ==, built_in->step.terminated);
                if (env_ended(ours)) {
                        env_reset(ours, 8);
                        env_reset(built_in, 8);
                        n_ends++;
                }
        }
        g_assert_cmpint(n_ends, >, 10);
}

static void test_defaults(void) {
        const ActordOption reward = env_option("Reward", "alive 1"), other = env_option("Horizon", "999");
        g_autofree char *directory = source("actor/envs/mujoco");
        const ActordEnv *abi = model_open(directory, "hopper.xml");
        ActordOption option;

        if (!abi)
                return;
        for (size_t i = 0; environment_option(environment_find("mujoco:"), i, &option); i++)
                if (option.value[0])
                        g_assert_true(env_is_default(abi, &option, &reward, 1));
        g_assert_false(env_is_default(abi, &other, &reward, 1));
}

/* A restored instance goes on exactly like the original. The rewards here read the velocities of bodies,
 * which do not follow from positions. */
static void test_snapshot(void) {
        const ActordOption options[] = { HOPPER_TERMS("alive"),
                env_option("Reward",
                                "vx torso 1, vz foot 2, upright torso 1, square distance torso foot 0.5"),
                env_option("Terminate", "z torso < 0.7, vz torso < -3") };
        g_autofree char *directory = source("actor/envs/mujoco");
        const ActordEnv *abi = model_open(directory, "hopper.xml");
        g_autoptr(Env) a = NULL, b = NULL;
        ActordRandom actions;

        if (!abi)
                return;
        a = env_new_of(abi, options, G_N_ELEMENTS(options));
        b = env_new_of(abi, options, G_N_ELEMENTS(options));
        random_begin(&actions, 9, RANDOM_ACTION, 0, 0, 0);
        env_reset(a, 9);
        for (int i = 0; i < 500; i++) {
                uint32_t action[32];

                g_assert_cmpint(abi->snapshot(a->instance, b->snapshot), ==, 0);
                g_assert_cmpint(abi->restore(b->instance, b->snapshot), ==, 0);
                action_draw(&a->spec, &actions, action);
                env_step(a, 9, action);
                env_step(b, 9, action);
                g_assert_cmpfloat(a->step.reward, ==, b->step.reward);
                g_assert_cmpuint(a->step.terminated, ==, b->step.terminated);
                g_assert_cmpmem(a->observation, a->observation_bytes, b->observation, b->observation_bytes);
                if (env_ended(a))
                        env_reset(a, 9);
        }
}

#define MODEL(rest)                                                                                     \
        "<mujoco><worldbody><body name='b' pos='0 0 1'><joint name='h' type='hinge' axis='0 1 0'/>"     \
        "<geom size='0.1'/><site name='s' pos='0 0 0.5'/><body name='c'><joint name='g' type='slide'/>" \
        "<geom size='0.1'/></body></body></worldbody>" rest "</mujoco>"
#define MOTOR(joint, range) "<motor joint='" joint "' ctrllimited='true' ctrlrange='" range "'/>"

/* Motors of different ranges are scaled to one space. */
static void test_scaled(void) {
        const ActordEnv *abi = model_write(
                        MODEL("<actuator>" MOTOR("h", "-1 3") MOTOR("g", "0 0.5") "</actuator>"));
        const ActordOption options[] = { env_option("Reward", "control 1, z s 0") };
        const float low[] = { -1, -1 }, middle[] = { 0, 0 };
        g_autoptr(Env) env = NULL;

        if (!abi)
                return;
        env = env_new_of(abi, options, G_N_ELEMENTS(options));
        g_assert_cmpfloat(env->spec.action.low, ==, -1);
        g_assert_cmpfloat(env->spec.action.high, ==, 1);
        env_reset(env, 1);
        env_step(env, 1, low);
        g_assert_cmpfloat(env->step.reward, ==, 1);
        env_step(env, 1, middle);
        g_assert_cmpfloat(env->step.reward, ==, 1 + 0.0625);
}

/* A model file that changed gives another digest. */
static void test_digest(void) {
        const ActordOption reward = env_option("Reward", "alive 1");
        ActordEnvSpec specs[3] = {};

        for (int i = 0; i < 3; i++) {
                const ActordEnv *abi =
                                model_write(i < 2 ? MODEL("<actuator>" MOTOR("h", "-1 3") "</actuator>")
                                                  : MODEL("<actuator>" MOTOR("h", "-1 4") "</actuator>"));

                if (!abi)
                        return;
                g_assert_cmpint(abi->spec(&reward, 1, &specs[i]), ==, 0);
        }
        g_assert_cmpstr(specs[0].name, ==, specs[1].name);
        g_assert_cmpstr(specs[0].name, !=, specs[2].name);
}

static void test_refused(void) {
        static const struct {
                const char *model, *key, *value;
        } cases[] = {
                { "<mujoco>", "Reward", "alive 1" },
                { MODEL(""), "Reward", "alive 1" },                                        /* no motor */
                { MODEL("<actuator><motor joint='h'/></actuator>"), "Reward", "alive 1" }, /* of any force */
                { MODEL("<actuator>" MOTOR("h", "-1 1") "</actuator>"), "FrameSkip", "2" }, /* no reward */
                { MODEL("<actuator>" MOTOR("h", "-1 1") "</actuator>"), "Reward", "position nobody 1" },
                { MODEL("<actuator>" MOTOR("h", "-1 1") "</actuator>"), "Reward", "z nobody 1" },
                { MODEL("<actuator>" MOTOR("h", "-1 1") "</actuator>"), "Reward", "alive one" },
                { MODEL("<actuator>" MOTOR("h", "-1 1") "</actuator>"), "Nonsense", "1" },
                { MODEL("<actuator>" MOTOR("h", "-1 1") "</actuator>"), "RewardPlugin", "absent.so" },
                { MODEL("<actuator>" MOTOR("h", "-1 1") "</actuator>"), "RewardPlugin",
                                "../model/absent.so" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                const ActordOption option = env_option(cases[i].key, cases[i].value);
                const ActordEnv *abi = model_write(cases[i].model);
                ActordEnvSpec spec;

                if (!abi)
                        return;
                g_assert_cmpint(abi->spec(&option, 1, &spec), ==, -EINVAL);
        }
}

int main(int argc, char **argv) {
        int r;

        g_test_init(&argc, &argv, NULL);
        scratch = g_dir_make_tmp("actord-test-XXXXXX", NULL);
        g_test_add_data_func("/mjcf/hopper/v4", "Hopper-v4", test_hopper);
        g_test_add_data_func("/mjcf/hopper/v5", "Hopper-v5", test_hopper);
        g_test_add_func("/mjcf/defaults", test_defaults);
        g_test_add_func("/mjcf/snapshot", test_snapshot);
        g_test_add_func("/mjcf/scaled", test_scaled);
        g_test_add_func("/mjcf/digest", test_digest);
        g_test_add_func("/mjcf/refused", test_refused);
        r = g_test_run();
        scratch_remove();
        return r;
}
