/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The environments that the invoker carries itself. They are rows of one table and are called through the
 * same ABI as anybody's plugin. */
#pragma once

#include "include/actord/env.h"

/* NULL: not built in (it may be a module's, or a plugin). */
const ActordEnv *builtin_env_find(const char *name);
