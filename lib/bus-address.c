/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/bus-address.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEEDS_NO_ESCAPE "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_/."

static int copy(const char *text, char **ret) {
        *ret = strdup(text);
        return *ret ? 0 : -ENOMEM;
}

int bus_address(bool system, char **ret) {
        static const char hex[] = "0123456789abcdef";
        const char *named, *runtime;
        char *p;

        assert(ret);

        named = secure_getenv(system ? "DBUS_SYSTEM_BUS_ADDRESS" : "DBUS_SESSION_BUS_ADDRESS");
        if (named || system)
                return copy(named ? named : "unix:path=/run/dbus/system_bus_socket", ret);
        runtime = secure_getenv("XDG_RUNTIME_DIR");
        if (!runtime)
                return -ENOENT;
        *ret = p = malloc(sizeof("unix:path=/bus") + 3 * strlen(runtime));
        if (!p)
                return -ENOMEM;
        p = stpcpy(p, "unix:path=");
        for (; *runtime; runtime++) {
                unsigned char c = (unsigned char) *runtime;

                if (strchr(NEEDS_NO_ESCAPE, c)) {
                        *p++ = *runtime;
                        continue;
                }
                *p++ = '%';
                *p++ = hex[c >> 4];
                *p++ = hex[c & 15];
        }
        (void) strcpy(p, "/bus");
        return 0;
}
