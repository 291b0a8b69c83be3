/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The module's one entrance. Only an administrator installs it, so that the invoker may load it, and the
 * models in it, before it forks an actor. */
#include <mujoco/mujoco.h>
#include <string.h>

#include "actor/envs/mujoco/tasks.h"

static const struct {
        const char *name;
        const ActordEnv *env;
} tasks[] = {
        { "Ant-v4", &ant_env },
        { "HalfCheetah-v4", &halfcheetah_env },
        { "Hopper-v4", &hopper_env },
        { "Humanoid-v4", &humanoid_env },
        { "HumanoidStandup-v4", &humanoidstandup_env },
        { "InvertedDoublePendulum-v4", &inverteddoublependulum_env },
        { "InvertedPendulum-v4", &invertedpendulum_env },
        { "Reacher-v4", &reacher_env },
        { "Swimmer-v4", &swimmer_env },
        { "Walker2d-v4", &walker2d_env },
};

__attribute__((visibility("default"))) const ActordEnv *actord_env_find(const char *name);

/* NULL: the module has no such task, or runs on another MuJoCo than the one it was compiled for, whose
 * structures it would misread. */
const ActordEnv *actord_env_find(const char *name) {
        if (mj_version() != mjVERSION_HEADER)
                return NULL;

        for (size_t i = 0; i < sizeof(tasks) / sizeof(tasks[0]); i++)
                if (strcmp(tasks[i].name, name) == 0)
                        return tasks[i].env;
        return NULL;
}
