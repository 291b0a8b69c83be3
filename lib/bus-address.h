/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The address of a message bus. It comes from an environment variable, or is the usual place, as in
 * sd-bus. */
#pragma once

#include <stdbool.h>

/* *ret is to be freed. -ENOENT: the environment names no user's bus. */
int bus_address(bool system, char **ret);
