/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where a message bus listens: what the environment names, or the usual place, as sd-bus finds it. */
#pragma once

#include <stdbool.h>

/* *ret is to be freed. -ENOENT: the environment names no user's bus. */
int bus_address(bool system, char **ret);
