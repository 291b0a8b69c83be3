/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The address of a message bus. It comes from an environment variable, or is the usual place, as in
 * sd-bus. */
#pragma once

#include <stdbool.h>

/* *ret: the address of the system's or the user's bus, to be freed. -ENOENT: neither
 * DBUS_SESSION_BUS_ADDRESS nor XDG_RUNTIME_DIR is set, so the user's bus is not known. */
int bus_address(bool system, char **ret);
