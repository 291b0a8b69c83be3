/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of built-in environments. include/environments.h has the same names for programs that run no
 * environment. */
#include "actor/envs/builtin.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

static const struct {
        const char *name;
        const ActordEnv *env;
} builtins[] = {
        { "CartPole-v0", &cartpole_v0_env },
        { "CartPole-v1", &cartpole_v1_env },
        { "Pendulum-v1", &pendulum_v1_env },
        { "Acrobot-v1", &acrobot_v1_env },
        { "MountainCar-v0", &mountaincar_v0_env },
        { "MountainCarContinuous-v0", &mountaincar_continuous_v0_env },
        { "Catch-v0", &catch_v0_env },
        { "phydrl-cartpole", &phydrl_cartpole_env },
        { "iot5g-discrete", &iot5g_discrete_env },
        { "iot5g-continuous", &iot5g_continuous_env },
        { "faas", &faas_env },
        { "shares", &shares_env },
        { "two-ponds", &two_ponds_env },
};

const ActordEnv *builtin_env_find(const char *name) {
        assert(name);

        for (size_t i = 0; i < sizeof(builtins) / sizeof(builtins[0]); i++)
                if (strcmp(builtins[i].name, name) == 0)
                        return builtins[i].env;
        return NULL;
}
