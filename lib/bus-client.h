/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A bus connection that asks questions and accepts no descriptors. Connections of sd_bus_open_system() and
 * sd_bus_open_user() accept descriptors, and all users of the bus may send them some. A descriptor on a file
 * system that does not answer would hang its receiver for ever. */
#pragma once

#include <stdbool.h>
#include <systemd/sd-bus.h>
#include "lib/bus-address.h"
#include "lib/cleanup.h"

/* Starts a connection whose address or socket is set. */
static inline int bus_client_start(sd_bus *bus) {
        int r;

        r = sd_bus_set_bus_client(bus, true);
        if (r < 0)
                return r;
        r = sd_bus_negotiate_fds(bus, false);
        if (r < 0)
                return r;
        return sd_bus_start(bus);
}

static inline int bus_client_open(bool system, sd_bus **ret) {
        _cleanup_(sd_bus_unrefp) sd_bus *bus = NULL;
        _cleanup_free_ char *address = NULL;
        int r;

        r = sd_bus_new(&bus);
        if (r < 0)
                return r;
        r = bus_address(system, &address);
        if (r < 0)
                return r;
        r = sd_bus_set_address(bus, address);
        if (r < 0)
                return r;
        r = bus_client_start(bus);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(bus);
        return 0;
}
