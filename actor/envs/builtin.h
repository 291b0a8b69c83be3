/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The environments that are built into the invoker. They are rows of one table and are called through the
 * same ABI as plugins. */
#pragma once

#include "include/actord/env.h"

/* NULL: not built in. */
const ActordEnv *builtin_env_find(const char *name);
