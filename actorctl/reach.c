/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The first call to a daemon on a bus is a Ping. If the bus does not know actord, or forbids the call, it
 * answers at once. Otherwise the bus asks systemd to start the unit. If the unit fails, nothing tells the
 * bus. So this file asks systemd itself while it waits for the answer. */
#include "actorctl/reach.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "actorctl/actorctl.h"
#include "include/bus.h"
#include "lib/cleanup.h"

#define MANAGER           "org.freedesktop.systemd1"
#define LOOK_USEC         200000
#define MANAGER_WAIT_USEC 2000000

typedef struct Ping {
        bool answered;
        int error;
        sd_bus_error said;
} Ping;

static int on_pong(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Ping *ping = userdata;

        ping->answered = true;
        if (!sd_bus_message_is_method_error(m, NULL))
                return 1;
        ping->error = -sd_bus_message_get_errno(m);
        (void) sd_bus_error_copy(&ping->said, sd_bus_message_get_error(m));
        return 1;
}

static int unit_path(sd_bus *bus, char **ret) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const char *path;
        int r;

        r = sd_bus_call_method(bus, MANAGER, "/org/freedesktop/systemd1", MANAGER ".Manager", "LoadUnit",
                        NULL, &reply, "s", "actord.service");
        if (r < 0)
                return r;
        r = sd_bus_message_read(reply, "o", &path);
        if (r < 0)
                return r;
        *ret = g_strdup(path);
        return 0;
}

/* Whether systemd must still start the unit, or stop it first. */
static bool job_waits(sd_bus *bus, const char *path) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        uint32_t id = 0;

        return sd_bus_get_property(bus, MANAGER, path, MANAGER ".Unit", "Job", NULL, &reply, "(uo)") < 0 ||
               sd_bus_message_read(reply, "(uo)", &id, NULL) < 0 || id != 0;
}

/* Why the unit will not start by itself; NULL: it may. The Ping before this call made the bus ask systemd to
 * start the unit. systemd handles that request first, since this question comes over the same connection. */
static char *unit_failure(sd_bus *bus) {
        g_autofree char *path = NULL;
        _cleanup_free_ char *state = NULL, *said = NULL;

        if (unit_path(bus, &path) < 0 || job_waits(bus, path) ||
                        sd_bus_get_property_string(bus, MANAGER, path, MANAGER ".Unit", "ActiveState", NULL,
                                        &state) < 0)
                return NULL;
        if (g_str_equal(state, "inactive"))
                return g_strdup("the bus still waits for an earlier start, which failed; remove the cause, "
                                "then run `systemctl start actord`");
        if (!g_str_equal(state, "failed"))
                return NULL;
        if (sd_bus_get_property_string(bus, MANAGER, path, MANAGER ".Service", "StatusText", NULL, &said) <
                        0)
                return g_strdup("");
        return g_strdup(said);
}

static int complain_start(bool system, const char *host, const char *why) {
        complain("actord does not start%s%s: see systemctl %sstatus actord%s%s", host ? " on " : "",
                        host ?: "", system ? "" : "--user ", *why ? ": " : "", why);
        return -ESHUTDOWN;
}

static int complain_error(const Ping *ping, bool system, const char *host) {
        g_autofree char *called = g_strdup_printf(
                        "the %s bus%s%s", system ? "system" : "user's", host ? " of " : "", host ?: "");

        if (sd_bus_error_has_name(&ping->said, SD_BUS_ERROR_SERVICE_UNKNOWN) ||
                        sd_bus_error_has_name(&ping->said, SD_BUS_ERROR_NAME_HAS_NO_OWNER))
                complain("%s does not know actord: actord is not installed, or the bus has not read its "
                         "files "
                         "(systemctl %sreload dbus)",
                                called, system ? "" : "--user ");
        else if (sd_bus_error_has_name(&ping->said, SD_BUS_ERROR_ACCESS_DENIED))
                complain("%s blocks calls to actord: it has not read the rules in "
                         "dbus-1/system.d/org.actord1.conf; as root: systemctl reload dbus",
                                called);
        else
                return complain_start(system, host, ping->said.message ?: g_strerror(-ping->error));
        return ping->error;
}

/* Waits for an answer. 0: the answer has come; -ESHUTDOWN: the unit failed, and *ret_failure says how;
 * another negative errno: the connection is lost. */
static int wait_for_pong(sd_bus *bus, const Ping *ping, char **ret_failure) {
        int r;

        while (!ping->answered) {
                r = sd_bus_process(bus, NULL);
                if (r < 0)
                        return r;
                if (r > 0)
                        continue;
                r = sd_bus_wait(bus, LOOK_USEC);
                if (r < 0 && r != -EINTR)
                        return r;
                if (r != 0)
                        continue;
                *ret_failure = unit_failure(bus);
                if (*ret_failure)
                        return -ESHUTDOWN;
        }
        return 0;
}

int daemon_reach(sd_bus *bus, bool system, const char *host) {
        Ping ping = {};
        /* its handler writes to `ping`, which is declared first and so outlives the slot */
        _cleanup_(sd_bus_slot_unrefp) sd_bus_slot *slot = NULL;
        g_autofree char *failure = NULL;
        uint64_t usual_usec;
        int r;

        g_assert(bus);

        r = sd_bus_call_method_async(bus, &slot, BUS_NAME, BUS_PATH, "org.freedesktop.DBus.Peer", "Ping",
                        on_pong, &ping, NULL);
        if (r < 0) {
                complain("actord cannot be called: %s", g_strerror(-r));
                return r;
        }
        (void) sd_bus_get_method_call_timeout(bus, &usual_usec);
        (void) sd_bus_set_method_call_timeout(bus, MANAGER_WAIT_USEC);
        r = wait_for_pong(bus, &ping, &failure);
        (void) sd_bus_set_method_call_timeout(bus, usual_usec);
        if (failure)
                r = complain_start(system, host, failure);
        else if (r < 0)
                complain("the bus closed the connection while actord was called: %s", g_strerror(-r));
        else if (ping.error < 0)
                r = complain_error(&ping, system, host);
        sd_bus_error_free(&ping.said);
        return r;
}
