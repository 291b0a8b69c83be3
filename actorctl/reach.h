/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether the daemon behind a bus answers; the bus starts it if it does not run. */
#pragma once

#include <stdbool.h>
#include <systemd/sd-bus.h>

/* Waits until the daemon answers. 0; or a negative errno, with a message. A unit that fails to start is
 * noticed at once; the bus itself would wait 25 seconds. host: where the bus is, in messages; NULL: here. */
int daemon_reach(sd_bus *bus, bool system, const char *host);
