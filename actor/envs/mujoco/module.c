/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The module's exported functions, except that for users' own models (mjcf.h). Only an administrator
 * installs the module, so the invoker may load it and its models before it forks an actor. */
#include <mujoco/mujoco.h>
#include <string.h>

#include "actor/envs/mujoco/tasks.h"

static const struct {
        const char *name;
        const ActordEnv *env;
} tasks[] = {
        { "Ant-v4", &ant_v4_env },
        { "Ant-v5", &ant_v5_env },
        { "HalfCheetah-v4", &halfcheetah_v4_env },
        { "HalfCheetah-v5", &halfcheetah_v5_env },
        { "Hopper-v4", &hopper_v4_env },
        { "Hopper-v5", &hopper_v5_env },
        { "Humanoid-v4", &humanoid_v4_env },
        { "Humanoid-v5", &humanoid_v5_env },
        { "HumanoidStandup-v4", &humanoidstandup_v4_env },
        { "HumanoidStandup-v5", &humanoidstandup_v5_env },
        { "InvertedDoublePendulum-v4", &inverteddoublependulum_v4_env },
        { "InvertedDoublePendulum-v5", &inverteddoublependulum_v5_env },
        { "InvertedPendulum-v4", &invertedpendulum_v4_env },
        { "InvertedPendulum-v5", &invertedpendulum_v5_env },
        { "Pusher-v4", &pusher_v4_env },
        { "Pusher-v5", &pusher_v5_env },
        { "Reacher-v4", &reacher_v4_env },
        { "Reacher-v5", &reacher_v5_env },
        { "Swimmer-v4", &swimmer_v4_env },
        { "Swimmer-v5", &swimmer_v5_env },
        { "Walker2d-v4", &walker2d_v4_env },
        { "Walker2d-v5", &walker2d_v5_env },
};

__attribute__((visibility("default"))) const ActordEnv *actord_env_find(const char *name);

/* Finds a task by its name. NULL: the module has no such task; or it was compiled for another release of
 * MuJoCo, and would misread the structures of this one. */
const ActordEnv *actord_env_find(const char *name) {
        if (mj_version() != mjVERSION_HEADER)
                return NULL;

        for (size_t i = 0; i < sizeof(tasks) / sizeof(tasks[0]); i++)
                if (strcmp(tasks[i].name, name) == 0)
                        return tasks[i].env;
        return NULL;
}

__attribute__((visibility("default"))) const char *actord_env_engine(void);

/* The release of MuJoCo on which this module runs. */
const char *actord_env_engine(void) {
        return mj_versionString();
}
