/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tests/unit/env-fixture.h"

#include <fcntl.h>
#include <unistd.h>

#include "actor/envs/builtin.h"

enum { GUARD_BYTES = 64, GUARD = 0xa5 };

char *build_path(const char *file) {
        const char *build = g_getenv("ACTORD_BUILD");
        g_autofree char *self = NULL, *tests = NULL, *folder = NULL;

        if (build)
                return g_build_filename(build, file, NULL);

        self = g_file_read_link("/proc/self/exe", NULL);
        g_assert_nonnull(self);
        tests = g_path_get_dirname(self);
        folder = g_path_get_dirname(tests);
        return g_build_filename(folder, file, NULL);
}

void *env_module(const char *name) {
        static GHashTable *modules;
        g_autofree char *file = g_strdup_printf("env-%s.so", name), *path = build_path(file);
        void *module;

        if (!modules)
                modules = g_hash_table_new(g_str_hash, g_str_equal);
        module = g_hash_table_lookup(modules, name);
        if (!module && access(path, F_OK) == 0) {
                module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
                if (!module)
                        g_error("%s", dlerror());
                g_hash_table_insert(modules, g_strdup(name), module);
        }
        return module;
}

const ActordEnv *env_find_in(const char *module, const char *name) {
        const ActordEnv *(*find)(const char *name);

        if (!env_module(module))
                return NULL;
        find = (const ActordEnv *(*) (const char *) ) dlsym(env_module(module), "actord_env_find");
        g_assert_nonnull(find);
        return find(name);
}

int packages_open(void) {
        static int fd = -1;
        g_autofree char *path = build_path("venv-parity-swmm/installed"),
                        *directory = g_path_get_dirname(path);

        if (fd < 0 && access(path, F_OK) == 0)
                fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return fd;
}

const char *env_refuses(const char *name) {
        const EnvironmentRow *row = environment_find(name);
        void (*packages)(const char *python, int fd);

        if (strcmp(row->module, ENVIRONMENT_SWMM) != 0 || !env_module(row->module))
                return NULL;
        if (packages_open() < 0)
                return "EPA SWMM is not there: tests/parity/stormwater.sh fetches it";
        packages = (void (*)(const char *, int)) dlsym(env_module(row->module), "actord_env_packages");
        g_assert_nonnull(packages);
        packages("the tests' virtual environment", packages_open());
        return NULL;
}

const ActordEnv *env_find(const char *name) {
        const EnvironmentRow *row = environment_find(name);

        g_assert_nonnull(row);
        return row->module[0] ? env_find_in(row->module, name) : builtin_env_find(name);
}

static uint8_t *guarded_new(size_t n_bytes) {
        size_t n = (n_bytes + GUARD_BYTES + 63) / 64 * 64;
        uint8_t *p = aligned_alloc(64, n);

        g_assert_nonnull(p);
        memset(p, GUARD, n);
        memset(p, 0, n_bytes);
        return p;
}

static void guarded_free(uint8_t *p, size_t n_bytes) {
        for (size_t i = 0; i < GUARD_BYTES; i++)
                g_assert_cmphex(p[n_bytes + i], ==, GUARD);
        free(p);
}

ActordOption env_option(const char *key, const char *value) {
        ActordOption option = {};

        g_assert_cmpuint(g_strlcpy(option.key, key, sizeof(option.key)), <, sizeof(option.key));
        g_assert_cmpuint(g_strlcpy(option.value, value, sizeof(option.value)), <, sizeof(option.value));
        return option;
}

Env *env_new_of(const ActordEnv *abi, const ActordOption *options, uint32_t n_options) {
        Env *env = g_new0(Env, 1);
        size_t n = 1;

        g_assert_nonnull(abi);
        env->abi = abi;
        g_assert_cmpint(env->abi->spec(options, n_options, &env->spec), ==, 0);

        for (uint32_t i = 0; i < env->spec.observation.n_dims; i++)
                n *= env->spec.observation.shape[i];
        env->observation_bytes = n * env->spec.n_agents * element_bytes(env->spec.observation.element);

        env->instance = guarded_new(env->spec.instance_bytes);
        env->observation = guarded_new(env->observation_bytes);
        env->snapshot = guarded_new(env->spec.snapshot_bytes);
        g_assert_cmpint(env->abi->init(env->instance, options, n_options), ==, 0);
        return env;
}

Env *env_new_with(const char *name, const ActordOption *options, uint32_t n_options) {
        return env_new_of(env_find(name), options, n_options);
}

Env *env_new(const char *name) {
        return env_new_with(name, NULL, 0);
}

void env_free(Env *env) {
        if (!env)
                return;
        env->abi->close(env->instance);
        guarded_free(env->instance, env->spec.instance_bytes);
        guarded_free(env->observation, env->observation_bytes);
        guarded_free(env->snapshot, env->spec.snapshot_bytes);
        g_free(env);
}

bool env_is_default(const ActordEnv *abi, const ActordOption *option, const ActordOption *others,
                uint32_t n_others) {
        g_autofree ActordOption *all = g_new0(ActordOption, n_others + 1);
        Env *envs[3];
        bool same = true;

        for (uint32_t i = 0; i < n_others; i++)
                all[i] = others[i];
        all[n_others] = *option;
        for (uint32_t i = 0; i < 3; i++)
                envs[i] = env_new_of(abi, all, n_others + (i == 2));

        for (size_t i = 0; i + sizeof(uint64_t) <= envs[0]->spec.instance_bytes; i += sizeof(uint64_t))
                if (memcmp(envs[0]->instance + i, envs[1]->instance + i, sizeof(uint64_t)) == 0)
                        same = same &&
                               memcmp(envs[0]->instance + i, envs[2]->instance + i, sizeof(uint64_t)) == 0;
        for (uint32_t i = 0; i < 3; i++)
                env_free(envs[i]);
        return same;
}

const float *env_observation(const Env *env) {
        return (const float *) env->observation;
}

void env_reset(Env *env, uint64_t seed) {
        ActordRandom random;

        random_begin(&random, seed, RANDOM_RESET, 0, env->episode++, 0);
        env->n_steps = 0;
        g_assert_cmpint(env->abi->reset(env->instance, &random, env->observation), ==, 0);
}

int env_try_step(Env *env, uint64_t seed, const void *action) {
        ActordRandom random;

        random_begin(&random, seed, RANDOM_STEP, 0, env->episode, env->n_steps++);
        memset(&env->step, GUARD, sizeof(env->step));
        return env->abi->step(env->instance, action, &random, env->observation, &env->step);
}

void env_step(Env *env, uint64_t seed, const void *action) {
        g_assert_cmpint(env_try_step(env, seed, action), ==, 0);
}

void env_step_number(Env *env, double number) {
        int32_t choice = (int32_t) number;
        float force[32] = { (float) number };

        env_step(env, 0, env->spec.action.kind == ACTORD_DISCRETE ? (void *) &choice : force);
}

void action_draw(const ActordEnvSpec *spec, ActordRandom *random, uint32_t ret_action[32]) {
        float force[32];

        if (spec->action.kind == ACTORD_DISCRETE) {
                ret_action[0] = random_below(random, spec->action.n_choices);
                return;
        }

        g_assert_cmpuint(spec->action.n_dims, ==, 1);
        g_assert_cmpuint(spec->action.shape[0], <=, 32);
        for (uint32_t i = 0; i < spec->action.shape[0]; i++)
                force[i] = (float) actord_random_uniform(random, spec->action.low, spec->action.high);
        memcpy(ret_action, force, spec->action.shape[0] * sizeof(float));
}

bool env_ended(const Env *env) {
        return env->step.terminated || env->n_steps >= env->spec.horizon_steps;
}
