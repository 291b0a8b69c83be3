/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The module's only exported function. */
#include <stddef.h>
#include <string.h>

#include "actor/envs/box2d/tasks.h"
#include "actor/envs/box2d/world.h"

static const struct {
        const char *name;
        const ActordEnv *env;
} tasks[] = {
        { "BipedalWalker-v3", &bipedalwalker_env },
        { "BipedalWalkerHardcore-v3", &bipedalwalker_hardcore_env },
        { "LunarLander-v3", &lunarlander_env },
        { "LunarLanderContinuous-v3", &lunarlander_continuous_env },
};

__attribute__((visibility("default"))) const ActordEnv *actord_env_find(const char *name);

const ActordEnv *actord_env_find(const char *name) {
        world_prepare();
        for (size_t i = 0; i < sizeof(tasks) / sizeof(tasks[0]); i++)
                if (strcmp(tasks[i].name, name) == 0)
                        return tasks[i].env;
        return NULL;
}
