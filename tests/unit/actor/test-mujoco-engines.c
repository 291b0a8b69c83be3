/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests with each release of MuJoCo for which a module was built: Debian's, and those of `make MUJOCO=DIR`.
 * The first steps equal Gymnasium's on the same release, also with options, and all later steps depend on
 * the snapshot alone. The test is compiled against one release and runs with several, so it calls only the
 * environment ABI. */
#include <json-glib/json-glib.h>

#include "tests/unit/env-fixture.h"

enum { N_STEPS = 300, SEED = 11 };

typedef struct Engine {
        char *module;  /* "mujoco", "mujoco-4.0.0" */
        char *version; /* the version that the module's MuJoCo library reports */
} Engine;

static GPtrArray *engines;

static void add_engine(const char *file) {
        g_autofree char *module = g_strndup(file + strlen("env-"), strlen(file) - strlen("env-.so"));
        const char *(*version)(void) = NULL;
        Engine *engine;

        if (!env_module(module))
                return;
        /* mj_versionString() is a function of MuJoCo's library, which the module loads */
        version = (const char *(*) (void) ) dlsym(env_module(module), "mj_versionString");
        g_assert_nonnull(version);

        engine = g_new0(Engine, 1);
        engine->module = g_steal_pointer(&module);
        engine->version = g_strdup(version());
        g_ptr_array_add(engines, engine);
}

static void find_engines(void) {
        g_autofree char *build = build_path(".");
        g_autoptr(GDir) dir = g_dir_open(build, 0, NULL);
        const char *file;

        engines = g_ptr_array_new();
        g_assert_nonnull(dir);
        while ((file = g_dir_read_name(dir)))
                if (g_str_has_prefix(file, "env-mujoco") && g_str_has_suffix(file, ".so"))
                        add_engine(file);
}

/* The steps that Gymnasium makes on this engine. For MuJoCo 2.2.2 there is no file. The next release, 2.3.7,
 * agrees with it in the first steps, up to the tolerance of an iterative solver. */
static JsonNode *references_of(const Engine *engine, double *ret_tolerance) {
        bool near = strcmp(engine->version, "2.2.2") == 0;
        g_autofree char *path =
                        g_strdup_printf("tests/data/mujoco-%s.json", near ? "2.3.7" : engine->version);
        g_autoptr(JsonParser) parser = json_parser_new();

        if (!json_parser_load_from_file(parser, path, NULL))
                return NULL;

        *ret_tolerance = near ? 1e-5 : 1e-6; /* observations are single precision */
        return json_node_ref(json_parser_get_root(parser));
}

static double number(JsonArray *array, size_t i) {
        return json_array_get_double_element(array, (guint) i);
}

static void assert_near(const char *name, const char *what, size_t step, double x, double expected,
                double tolerance) {
        if (!(fabs(x - expected) <= tolerance * fmax(1, fabs(expected))))
                g_error("%s, step %zu: %s is %.12g, not %.12g", name, step, what, x, expected);
}

static void check_step(Env *env, const char *name, const char *option, size_t i, JsonObject *step,
                double tolerance) {
        JsonArray *action = json_object_get_array_member(step, "action");
        JsonArray *observation = json_object_get_array_member(step, "observation");
        size_t n = (size_t) json_object_get_int_member(step, "n"), stride = n > 30 ? 7 : 1;
        g_autofree char *label = g_strdup_printf("%s %s", name, option);
        float controls[32] = {};

        for (size_t k = 0; k < json_array_get_length(action); k++)
                controls[k] = (float) number(action, k);
        env_step(env, SEED, controls);

        assert_near(label, "reward", i, env->step.reward, json_object_get_double_member(step, "reward"),
                        tolerance);
        g_assert_cmpint(env->step.terminated, ==, json_object_get_boolean_member(step, "terminated"));
        g_assert_cmpuint(env->observation_bytes, ==, n * sizeof(float));
        for (size_t k = 0; k < json_array_get_length(observation); k++)
                assert_near(label, "observation", i, env_observation(env)[k * stride],
                                number(observation, k), tolerance);
}

static void check_reference(const Engine *engine, JsonObject *reference, double tolerance) {
        const char *name = json_object_get_string_member(reference, "environment");
        const char *text = json_object_get_string_member(reference, "option");
        g_auto(GStrv) option = g_strsplit(text, "=", 2);
        ActordOption given = option[0] ? env_option(option[0], option[1]) : (ActordOption){};
        g_autoptr(Env) env = env_new_of(env_find_in(engine->module, name), &given, option[0] ? 1 : 0);
        JsonArray *qpos = json_object_get_array_member(reference, "qpos");
        JsonArray *qvel = json_object_get_array_member(reference, "qvel");
        JsonArray *steps = json_object_get_array_member(reference, "steps");
        size_t nq = json_array_get_length(qpos);
        double state[64];

        g_assert_cmpuint(nq + json_array_get_length(qvel), <=, G_N_ELEMENTS(state));
        for (size_t i = 0; i < nq; i++)
                state[i] = number(qpos, i);
        for (size_t i = 0; i < json_array_get_length(qvel); i++)
                state[nq + i] = number(qvel, i);
        g_assert_cmpint(env->abi->set_state(env->instance, state, env->observation), ==, 0);

        for (size_t i = 0; i < json_array_get_length(steps); i++)
                check_step(env, name, text, i, json_array_get_object_element(steps, (guint) i), tolerance);
}

static void test_references(gconstpointer data) {
        const Engine *engine = data;
        g_autoptr(JsonNode) root = NULL;
        JsonArray *references;
        double tolerance = NAN;

        root = references_of(engine, &tolerance);
        if (!root) {
                g_test_skip("tests/parity/references.py has written none for this engine");
                return;
        }

        references = json_object_get_array_member(json_node_get_object(root), "references");
        g_assert_cmpuint(json_array_get_length(references), >, 10);
        for (guint i = 0; i < json_array_get_length(references); i++)
                check_reference(engine, json_array_get_object_element(references, i), tolerance);
}

/* One environment runs on. The other is moved now and then, by a snapshot, into an instance that was in
 * another episode. Both must make equal steps. */
static void check_continuation(const ActordEnv *abi) {
        g_autoptr(Env) steady = env_new_of(abi, NULL, 0), moved = env_new_of(abi, NULL, 0);
        g_autoptr(Env) spare = env_new_of(abi, NULL, 0);
        ActordRandom actions;

        env_reset(steady, SEED);
        env_reset(moved, SEED);
        env_reset(spare, SEED + 1);
        random_begin(&actions, SEED, RANDOM_ACTION, 0, 0, 0);

        for (int i = 0; i < N_STEPS; i++) {
                uint32_t action[32];

                action_draw(&steady->spec, &actions, action);
                env_step(steady, SEED, action);
                env_step(moved, SEED, action);
                g_assert_cmpmem(steady->observation, steady->observation_bytes, moved->observation,
                                moved->observation_bytes);
                g_assert_cmpmem(&steady->step, sizeof(steady->step), &moved->step, sizeof(moved->step));
                if (env_ended(steady)) {
                        env_reset(steady, SEED);
                        env_reset(moved, SEED);
                        continue;
                }
                if (i % 7 == 3) {
                        uint64_t episode = moved->episode;
                        uint32_t n_steps = moved->n_steps;
                        Env *left = moved;

                        g_assert_cmpint(moved->abi->snapshot(moved->instance, spare->snapshot), ==, 0);
                        env_step(spare, SEED, action);
                        g_assert_cmpint(spare->abi->restore(spare->instance, spare->snapshot), ==, 0);
                        moved = spare;
                        spare = left;
                        moved->episode = episode;
                        moved->n_steps = n_steps;
                        env_reset(spare, SEED + 2);
                }
        }
}

static void test_continuation(gconstpointer data) {
        const Engine *engine = data;

        for (size_t i = 0; i < environment_count(); i++)
                if (strcmp(environment_at(i)->module, "mujoco") == 0)
                        check_continuation(env_find_in(engine->module, environment_at(i)->name));
}

static void test_other_engine(void) {
        g_test_skip("only the default engine is built; `make MUJOCO=DIR` adds one");
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);

        find_engines();
        for (guint i = 0; i < engines->len; i++) {
                const Engine *engine = engines->pdata[i];
                g_autofree char *references =
                                g_strdup_printf("/mujoco-engines/%s/references", engine->version);
                g_autofree char *snapshot =
                                g_strdup_printf("/mujoco-engines/%s/continuation", engine->version);

                g_test_add_data_func(references, engine, test_references);
                g_test_add_data_func(snapshot, engine, test_continuation);
        }
        if (engines->len < 2)
                g_test_add_func("/mujoco-engines/another", test_other_engine);

        return g_test_run();
}
