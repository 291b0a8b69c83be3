/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The bus has the address that sd-bus would use. A connection of bus_client_open() does not tell the bus
 * that it accepts descriptors. */
#include "lib/bus-address.h"

#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "lib/bus-client.h"
#include "lib/cleanup.h"

#define PATIENCE_MSEC 60000

static void check(bool system, const char *expected) {
        _cleanup_free_ char *address = NULL;

        g_assert_cmpint(bus_address(system, &address), ==, 0);
        g_assert_cmpstr(address, ==, expected);
}

static void test_address(void) {
        _cleanup_free_ char *address = NULL;

        g_unsetenv("DBUS_SYSTEM_BUS_ADDRESS");
        g_unsetenv("DBUS_SESSION_BUS_ADDRESS");
        g_unsetenv("XDG_RUNTIME_DIR");
        check(true, "unix:path=/run/dbus/system_bus_socket");
        g_assert_cmpint(bus_address(false, &address), ==, -ENOENT);
        g_setenv("XDG_RUNTIME_DIR", "/run/a b;\xc3\xa4", true);
        check(false, "unix:path=/run/a%20b%3b%c3%a4/bus");
        g_setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/s", true);
        g_setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/u", true);
        check(true, "unix:path=/s");
        check(false, "unix:path=/u");
}

static int listen_at(const char *path) {
        struct sockaddr_un at = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        g_strlcpy(at.sun_path, path, sizeof(at.sun_path));
        g_assert_cmpint(bind(fd, (const struct sockaddr *) &at, sizeof(at)), ==, 0);
        g_assert_cmpint(listen(fd, 4), ==, 0);
        return fd;
}

/* Whether a client's first bytes, which come in one piece, ask the bus for descriptors. */
static bool takes_descriptors(int listener) {
        _cleanup_close_ int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        struct pollfd p = { .fd = fd, .events = POLLIN };
        char text[4096] = {};

        g_assert_cmpint(poll(&p, 1, PATIENCE_MSEC), ==, 1);
        g_assert_cmpint(recv(fd, text, sizeof(text) - 1, 0), >, 0);
        g_assert_nonnull(memmem(text, sizeof(text), "AUTH EXTERNAL", 13));
        return memmem(text, sizeof(text), "NEGOTIATE_UNIX_FD", 17) != NULL;
}

static void test_descriptors(void) {
        g_autofree char *directory = g_dir_make_tmp("actord-XXXXXX", NULL);
        g_autofree char *path = g_build_filename(directory, "bus", NULL);
        g_autofree char *address = g_strconcat("unix:path=", path, NULL);
        _cleanup_(sd_bus_unrefp) sd_bus *asking = NULL, *other = NULL;
        _cleanup_close_ int listener = listen_at(path);

        g_setenv("DBUS_SESSION_BUS_ADDRESS", address, true);
        g_assert_cmpint(sd_bus_open_user(&other), >=, 0);
        g_assert_true(takes_descriptors(listener));
        g_assert_cmpint(bus_client_open(false, &asking), ==, 0);
        g_assert_false(takes_descriptors(listener));
        (void) g_unlink(path);
        (void) g_rmdir(directory);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/bus-address/address", test_address);
        g_test_add_func("/bus-address/descriptors", test_descriptors);
        return g_test_run();
}
