/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A user's environment: a shared object that defines `actord_env`. The constructors of the object run
 * when it loads, so it is loaded only here, inside the finished sandbox. The object's table is checked
 * before any function is called. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "actor/host.h"

static bool abi_is_known(uint32_t abi) {
        return abi >= ACTORD_ENV_ABI_OLDEST && abi <= ACTORD_ENV_ABI;
}

int environment_check(const ActordEnv *env) {
        if (!env || !abi_is_known(env->abi) || env->struct_bytes < ACTORD_ENV_BYTES_MIN)
                return -ENOEXEC;
        if (!env->spec || !env->init || !env->reset || !env->step || !env->snapshot || !env->restore ||
                        !env->close)
                return -ENOEXEC;
        return 0;
}

/* The dynamic linker's last error without the path, which is inside the sandbox and unknown to the user. */
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
                                "The environment's file does not define \"actord_env\", which actord/env.h "
                                "describes.\n");
                return -ENOEXEC;
        }
        if (environment_check(env) < 0) {
                if (!abi_is_known(env->abi))
                        (void) fprintf(stderr,
                                        "The environment has ABI %u, but this actord knows ABI %u to %u: "
                                        "compile it with the installed actord/env.h.\n",
                                        env->abi, ACTORD_ENV_ABI_OLDEST, ACTORD_ENV_ABI);
                else
                        (void) fprintf(stderr,
                                        "The environment's table lacks a function, or struct_bytes is too "
                                        "small: actord/env.h lists the seven functions that it needs.\n");
                return -ENOEXEC;
        }

        /* never closed: the environment lives as long as this process */
        *ret = env;
        return 0;
}
