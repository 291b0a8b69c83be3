/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The tasks on Box2D, one file each, with the definitions of Gymnasium's box2d environments. */
#pragma once

#include "include/actord/env.h"

extern const ActordEnv lunarlander_env, lunarlander_continuous_env;
extern const ActordEnv bipedalwalker_env, bipedalwalker_hardcore_env;
