/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests cluster/listen.h: the head's port while the head has no descriptor left for a connection. */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cluster/listen.h"
#include "lib/boottime.h"

/* The head has no descriptor for a connection. The connection waits at the port, and the head looks at the
 * port again only after a while. */
static void test_scarce(void) {
        g_autofree Listener *listener = g_new0(Listener, 1);
        struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        char address[64], words[256];
        struct rlimit limit, none;
        unsigned port;
        int fd;

        listener->fd = listener->terms.plugin_fd = -EBADF;
        listener->terms.settings_fd = listener->terms.launch_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        g_assert_cmpint(listener_open(listener, "127.0.0.1", address, &port, words), ==, 0);
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        to.sin_port = htons((in_port_t) port);
        g_assert_cmpint(connect(fd, (const struct sockaddr *) &to, sizeof(to)), ==, 0);
        g_assert_cmpint(getrlimit(RLIMIT_NOFILE, &limit), ==, 0);
        none = (struct rlimit){ .rlim_max = limit.rlim_max };
        g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &none), ==, 0);
        listener_accept(listener);
        g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &limit), ==, 0);
        g_assert_cmpuint(listener->n_strangers, ==, 0);
        g_assert_false(listener_has_room(listener, listener->next_accept_nsec - 1));
        g_assert_true(listener_has_room(listener, listener->next_accept_nsec));
        g_assert_cmpuint(listener->next_accept_nsec, <=, clock_boottime() + 1000000000u);
        listener_accept(listener);
        g_assert_cmpuint(listener->n_strangers, ==, 1);
        g_assert_cmpint(listener->peers[0].pid, >, 0);
        listener_done(listener);
        g_assert_cmpuint(listener->n_strangers, ==, 0);
        (void) close(listener->terms.settings_fd);
        (void) close(fd);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/listen/scarce", test_scarce);
        return g_test_run();
}
