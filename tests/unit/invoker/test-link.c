/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Daemons that connect, go away and come back: which of them the invoker accepts as its own. */
#include <errno.h>
#include <glib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "invoker/link.h"
#include "lib/cleanup.h"

/* Listens at a name that the kernel chooses, so that no other test knows it. */
static int listen_somewhere(struct sockaddr_un *ret, socklen_t *ret_n) {
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        sa_family_t family = AF_UNIX;

        g_assert_cmpint(fd, >=, 0);
        g_assert_cmpint(bind(fd, (const struct sockaddr *) &family, sizeof(family)), ==, 0);
        g_assert_cmpint(listen(fd, 4), ==, 0);
        *ret_n = sizeof(*ret);
        g_assert_cmpint(getsockname(fd, (struct sockaddr *) ret, ret_n), ==, 0);
        return fd;
}

static int connect_to(const struct sockaddr_un *address, socklen_t n) {
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

        g_assert_cmpint(fd, >=, 0);
        g_assert_cmpint(connect(fd, (const struct sockaddr *) address, n), ==, 0);
        return fd;
}

static bool has_hello(int fd) {
        Hello hello;

        return recv(fd, &hello, sizeof(hello), MSG_DONTWAIT) == sizeof(hello);
}

/* A peer that connects and is gone before the invoker greets it does not replace the daemon that is
 * connected. */
static void test_gone_before_hello(void) {
        const Hello hello = { .abi = PLAN_ABI, .message = PLAN_MESSAGE_HELLO };
        _cleanup_close_ int first = -EBADF, third = -EBADF;
        struct sockaddr_un address;
        Spool spool = SPOOL_EMPTY;
        Link link = LINK_EMPTY;
        int listen_fd, before;
        socklen_t n;

        listen_fd = listen_somewhere(&address, &n);
        g_assert_cmpint(spool_init(1, &spool), ==, 0);
        g_assert_cmpint(link_init(listen_fd, 4, &link), ==, 0);
        g_assert_cmpint(link_accept(&link, &hello, &spool), ==, -EAGAIN);

        first = connect_to(&address, n);
        g_assert_cmpint(link_accept(&link, &hello, &spool), ==, 0);
        g_assert_true(has_hello(first));
        before = link.fd;

        g_assert_cmpint(close(connect_to(&address, n)), ==, 0);
        g_assert_cmpint(link_accept(&link, &hello, &spool), ==, -EPIPE);
        g_assert_cmpint(link.fd, ==, before);
        g_assert_cmpint(link_receive(&link, &spool), ==, 0);

        /* The third connection replaces the first one, whose end does not end the link. */
        third = connect_to(&address, n);
        g_assert_cmpint(link_accept(&link, &hello, &spool), ==, 0);
        g_assert_true(has_hello(third));
        g_assert_cmpint(link_receive(&link, &spool), ==, 0);
        third = close_fd(third);
        g_assert_cmpint(link_receive(&link, &spool), ==, -ECONNRESET);
        g_assert_cmpint(link.fd, <, 0);

        link_done(&link);
        spool_done(&spool);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/link/gone-before-hello", test_gone_before_hello);
        return g_test_run();
}
