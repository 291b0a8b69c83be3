/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds out whether the daemon on a bus answers. The bus starts the daemon if it does not run. */
#pragma once

#include <stdbool.h>
#include <systemd/sd-bus.h>

/* Waits until the daemon answers. 0; or a negative errno, with a message. If the unit fails to start, this
 * is noticed at once; the bus itself would wait 25 seconds. host: the bus's host, for messages; NULL: this
 * host. */
int daemon_reach(sd_bus *bus, bool system, const char *host);
