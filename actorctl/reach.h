/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether the daemon behind a bus answers; the bus starts it if it does not run. */
#pragma once

#include <stdbool.h>
#include <systemd/sd-bus.h>

/* Waits until the daemon answers. 0; or a negative errno after having said why. A unit that fails to
 * start is noticed while waiting: the bus itself would say only after 25 seconds that nobody came. */
int daemon_reach(sd_bus *bus, bool system);
