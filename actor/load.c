/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Environments that an administrator installed: built in, or in a module beside our programs. They load before any fork, so that all
 * actors share their pages; a user's plugin never comes this way. */
#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "actor/envs/builtin.h"
#include "actor/host.h"
#include "lib/environments.h"

typedef const ActordEnv *(*EnvironmentFind)(const char *name);

static int module_find(const char *name, const char *module, const char *directory, const ActordEnv **ret) {
        char path[PATH_MAX];
        const ActordEnv *env;
        EnvironmentFind find;
        void *handle;
        int n;

        n = snprintf(path, sizeof(path), "%s/env-%s.so", directory, module);
        if (n < 0 || (size_t) n >= sizeof(path))
                return -ENOEXEC;

        /* Stays open: its environments are called until this process ends. */
        handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!handle)
                return -ENOEXEC;

        find = (EnvironmentFind) dlsym(handle, "actord_env_find");
        env = find ? find(name) : NULL;
        if (environment_check(env) < 0)
                return -ENOEXEC;

        *ret = env;
        return 0;
}

int environment_load(const char *name, const char *directory, const ActordEnv **ret) {
        const EnvironmentRow *row;
        const ActordEnv *env;

        assert(name);
        assert(directory);
        assert(ret);

        row = environment_find(name);
        if (!row)
                return -ENOENT;
        if (row->module[0])
                return module_find(name, row->module, directory, ret);

        env = builtin_env_find(name);
        if (!env)
                return -ENOENT;

        *ret = env;
        return 0;
}
