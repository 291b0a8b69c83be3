/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Environments that an administrator installed: built in, or in a module beside actord's programs. They load
 * before any fork, so that all actors share their pages. A user's plugin is never loaded here. For a user's
 * packages or model, this file loads only the module of actord that will load them later. */
#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "actor/envs/builtin.h"
#include "actor/host.h"
#include "lib/environments.h"

typedef const ActordEnv *(*EnvironmentFind)(const char *name);
typedef const char *(*EnvironmentEngine)(void);
typedef const ActordEnv *(*EnvironmentOfGym)(const JobSettings *settings, int python_fd, int path_fd);
typedef const ActordEnv *(*EnvironmentOfModel)(const JobSettings *settings, int model_fd);
typedef void (*EnvironmentPackages)(const char *python, int python_fd);
typedef const ActordEnv *(*EnvironmentOfJob)(const JobSettings *inner, const char *directory);

/* A symbol of a module; NULL: there is no such module, or it does not define the symbol. */
static void *module_entrance(const char *module, const char *directory, const char *symbol) {
        char path[PATH_MAX];
        void *handle;
        int n;

        n = snprintf(path, sizeof(path), "%s/env-%s.so", directory, module);
        if (n < 0 || (size_t) n >= sizeof(path))
                return NULL;

        /* The module stays loaded: its environments are called until this process ends. */
        handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        return handle ? dlsym(handle, symbol) : NULL;
}

/* Returns the environment if its table of functions is valid. -ENOEXEC: it is not, or the module did not
 * load (env is NULL). */
static int take(const ActordEnv *env, const ActordEnv **ret) {
        if (environment_check(env) < 0)
                return -ENOEXEC;
        *ret = env;
        return 0;
}

static int module_find(const char *name, const char *module, const char *directory, const ActordEnv **ret) {
        EnvironmentFind find = (EnvironmentFind) module_entrance(module, directory, "actord_env_find");

        return take(find ? find(name) : NULL, ret);
}

int environment_load(const char *name, const char *directory, const ActordEnv **ret) {
        const EnvironmentRow *row;
        const ActordEnv *env;

        assert(name);
        assert(directory);
        assert(ret);

        row = environment_find(name);
        if (!row || environment_is_job(name) || environment_is_python(name) || environment_is_mjcf(name))
                return -ENOENT;
        if (row->module[0])
                return module_find(name, row->module, directory, ret);

        env = builtin_env_find(row->name);
        if (!env)
                return -ENOENT;

        *ret = env;
        return 0;
}

/* The release that [Environment] Engine= names. NULL: it names none or the default, or the environment has
 * no such key. */
static const char *asked_engine(const JobSettings *settings, const EnvironmentRow *row) {
        const ActordOption *engine = settings_option(settings, ENGINE_KEY);

        if (!row || !environment_takes(row, ENGINE_KEY))
                return NULL;
        if (!engine || !engine->value[0] || strcmp(engine->value, ENGINE_DEFAULT) == 0)
                return NULL;
        return engine->value;
}

static bool is_default_engine(const EnvironmentRow *row, const char *directory, const char *engine) {
        EnvironmentEngine of_default =
                        (EnvironmentEngine) module_entrance(row->module, directory, "actord_env_engine");

        return of_default && strcmp(of_default(), engine) == 0;
}

/* The name of the module that a job with this Engine= loads. 0; -EINVAL: Engine= is no release; -ENOENT: it
 * is not installed. After an error, a sentence is on stderr. */
static int choose_module(const JobSettings *settings, const EnvironmentRow *row, const char *directory,
                char ret[ENVIRONMENT_MODULE_MAX]) {
        const char *engine = asked_engine(settings, row);

        (void) snprintf(ret, ENVIRONMENT_MODULE_MAX, "%s", row->module);
        if (!engine)
                return 0;
        /* the release becomes part of a path */
        if (!environment_engine_valid(engine)) {
                (void) fprintf(stderr, "Engine=%s is no release of MuJoCo: write one such as 4.0.0.\n",
                                engine);
                return -EINVAL;
        }
        (void) snprintf(ret, ENVIRONMENT_MODULE_MAX, "%s-%.*s", row->module, ENGINE_MAX - 1, engine);
        if (module_entrance(ret, directory, "actord_env_find"))
                return 0;
        if (is_default_engine(row, directory, engine)) {
                (void) snprintf(ret, ENVIRONMENT_MODULE_MAX, "%s", row->module);
                return 0;
        }
        (void) fprintf(stderr,
                        "Engine=%s is not installed: %s has no env-%s.so that loads; "
                        "`actorctl env show %s` lists the engines there are.\n",
                        engine, directory, ret, settings->environment);
        return -ENOENT;
}

int environment_load_for(const JobSettings *settings, const char *directory, const ActordEnv **ret) {
        char module[ENVIRONMENT_MODULE_MAX];
        const EnvironmentRow *row;
        int r;

        assert(settings);
        assert(directory);
        assert(ret);

        row = environment_find(settings->environment);
        if (!row || !row->module[0] || environment_is_job(settings->environment))
                return environment_load(settings->environment, directory, ret);
        r = choose_module(settings, row, directory, module);
        return r < 0 ? r : module_find(settings->environment, module, directory, ret);
}

static int load_gym(const JobSettings *settings, const char *directory, int python_fd, int path_fd,
                const ActordEnv **ret) {
        EnvironmentOfGym of_gym = (EnvironmentOfGym) module_entrance("gym", directory, "actord_gym_env");
        int r;

        r = take(of_gym ? of_gym(settings, python_fd, path_fd) : NULL, ret);
        if (r < 0)
                (void) fprintf(stderr,
                                "env-gym.so does not load: this actord was built without python3-dev, or "
                                "libpython is not installed.\n");
        return r;
}

int environment_load_mjcf(
                const JobSettings *settings, const char *directory, int model_fd, const ActordEnv **ret) {
        char module[ENVIRONMENT_MODULE_MAX];
        EnvironmentOfModel of_model;
        int r;

        assert(settings);
        assert(directory);
        assert(ret);

        r = choose_module(settings, environment_find(settings->environment), directory, module);
        if (r < 0)
                return r;
        of_model = (EnvironmentOfModel) module_entrance(module, directory, "actord_mjcf_env");
        return take(of_model ? of_model(settings, model_fd) : NULL, ret);
}

int environment_load_packages(const JobSettings *settings, const char *directory, int python_fd, int path_fd,
                const ActordEnv **ret) {
        const EnvironmentRow *row;
        EnvironmentPackages packages;
        int r;

        assert(settings);
        assert(directory);
        assert(ret);
        assert(environment_loads_packages(settings->environment));

        if (environment_is_python(settings->environment))
                return load_gym(settings, directory, python_fd, path_fd, ret);

        row = environment_find(settings->environment);
        packages = (EnvironmentPackages) module_entrance(row->module, directory, "actord_env_packages");
        if (!packages)
                return -ENOEXEC;
        r = module_find(settings->environment, row->module, directory, ret);
        if (r < 0)
                return r;
        packages(settings->python, python_fd);
        return 0;
}

int environment_load_job(const JobSettings *inner, const char *directory, const ActordEnv **ret) {
        EnvironmentOfJob of_job;

        assert(inner);
        assert(directory);
        assert(ret);

        of_job = (EnvironmentOfJob) module_entrance("job", directory, "actord_job_env");
        return take(of_job ? of_job(inner, directory) : NULL, ret);
}
