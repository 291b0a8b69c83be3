/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The module's entrance for models of users' own. */
#pragma once

#include "actor/envs/mujoco/engine.h"
#include "include/settings.h"

/* Nothing of the model is read yet: who calls it is outside of the sandbox. model_fd: the descriptor of
 * its directory, which counts where the sandbox has no root of its own. The settings stay the caller's
 * and must remain. NULL: this module runs on another MuJoCo than the one that it was compiled for. */
__attribute__((visibility("default"))) const ActordEnv *actord_mjcf_env(
                const JobSettings *settings, int model_fd);
