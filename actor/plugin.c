/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A user's environment: a shared object that holds `actord_env`. Its constructors run as it loads, hence
 * only here, after the sandbox has closed. What it says of itself is checked before it is called. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "actor/host.h"

int environment_check(const ActordEnv *env) {
        if (!env || env->abi != ACTORD_ENV_ABI || env->struct_bytes < ACTORD_ENV_BYTES_MIN)
                return -ENOEXEC;
        if (!env->spec || !env->init || !env->reset || !env->step || !env->snapshot || !env->restore ||
                        !env->close)
                return -ENOEXEC;
        return 0;
}

/* The path is one inside the sandbox, which says nothing to a user: the daemon's sentence names theirs. */
static const char *load_error(const char *path) {
        const char *why = dlerror();
        size_t n = strlen(path);

        return strncmp(why, path, n) == 0 && strncmp(why + n, ": ", 2) == 0 ? why + n + 2 : why;
}

int plugin_load(const char *path, const ActordEnv **ret) {
        const ActordEnv *env;
        void *handle;

        handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!handle) {
                (void) fprintf(stderr, "The environment does not load: %s\n", load_error(path));
                return -ENOEXEC;
        }

        env = dlsym(handle, "actord_env");
        if (!env) {
                (void) fprintf(stderr,
                                "The environment's file defines no \"actord_env\": it is no environment of actord.\n");
                return -ENOEXEC;
        }
        if (environment_check(env) < 0) {
                if (env->abi != ACTORD_ENV_ABI)
                        (void) fprintf(stderr,
                                        "The environment is one for ABI %u, and this actord has ABI %u: compile it with "
                                        "the installed actord/env.h.\n",
                                        env->abi, ACTORD_ENV_ABI);
                else
                        (void) fprintf(stderr,
                                        "The environment lacks a function in its table, or its struct_bytes is too small: "
                                        "actord/env.h has the seven that each environment needs.\n");
                return -ENOEXEC;
        }

        /* Never closed: the environment lives as long as this process. */
        *ret = env;
        return 0;
}
