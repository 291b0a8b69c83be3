/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The functions that the module of EPA SWMM's tasks exports. */
#include <stddef.h>
#include <string.h>

#include "actor/envs/swmm/tasks.h"

__attribute__((visibility("default"))) const ActordEnv *actord_env_find(const char *name);
__attribute__((visibility("default"))) void actord_env_packages(const char *python, int fd);

const ActordEnv *actord_env_find(const char *name) {
        if (strcmp(name, theta_task.name) == 0)
                return &theta_env;
        if (strcmp(name, tidal_task.name) == 0)
                return &tidal_env;
        return strcmp(name, gamma_task.name) == 0 ? &gamma_env : NULL;
}

/* This is called outside of the sandbox, so it must not load EPA SWMM's library. */
void actord_env_packages(const char *python, int fd) {
        engine_packages(python, fd);
}
