/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The module's exported function for users' own models. */
#pragma once

#include "actor/envs/mujoco/engine.h"
#include "include/settings.h"

/* Called outside of the sandbox, so it does not read the model. model_fd: the descriptor of the model's
 * directory, for sandboxes without a root of their own. The settings belong to the caller and must stay
 * mapped. NULL: this module was compiled for another release of MuJoCo. */
__attribute__((visibility("default"))) const ActordEnv *actord_mjcf_env(
                const JobSettings *settings, int model_fd);
