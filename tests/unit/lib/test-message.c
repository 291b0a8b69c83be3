/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records with descriptors: none is lost, left open or mistaken, whatever the number that was sent. */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/message.h"

enum { MOST = 4 };

static unsigned count_open(void) {
        unsigned n = 0;

        for (int fd = 0; fd < 256; fd++)
                n += fcntl(fd, F_GETFD) >= 0;
        return n;
}

/* Sends n_sent descriptors to a receiver that asks for n_asked at most. Returns its result. */
static int pass(int pair[2], size_t n_sent, size_t n_asked, size_t *ret_n_fds) {
        int sent[MOST + 2], got[MOST];
        char byte = 0;
        size_t n;
        int r;

        for (size_t i = 0; i < n_sent; i++)
                sent[i] = pair[0];
        g_assert_cmpint(message_send(pair[0], "x", 1, sent, n_sent), ==, 0);
        r = message_receive(pair[1], 0, &byte, 1, &n, got, n_asked, ret_n_fds);
        if (r < 0)
                return r;
        g_assert_cmpint(byte, ==, 'x');
        for (size_t i = 0; i < *ret_n_fds; i++) {
                g_assert_cmpint(fcntl(got[i], F_GETFD), ==, FD_CLOEXEC);
                g_assert_cmpint(close(got[i]), ==, 0);
        }
        return 0;
}

/* A receiver that gets more than it asked for closes them all, and says so. */
static void test_numbers(void) {
        int pair[2];
        unsigned n_open;

        g_assert_cmpint(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), ==, 0);
        n_open = count_open();
        for (size_t n_asked = 0; n_asked <= MOST; n_asked++)
                for (size_t n_sent = 0; n_sent <= n_asked + 2; n_sent++) {
                        size_t n_fds = 77;
                        int r = pass(pair, n_sent, n_asked, &n_fds);

                        g_assert_cmpint(r, ==, n_sent <= n_asked ? 0 : -EMSGSIZE);
                        g_assert_cmpuint(n_fds, ==, r < 0 ? 77 : n_sent);
                        g_assert_cmpuint(count_open(), ==, n_open);
                }
        close(pair[0]);
        close(pair[1]);
}

/* Where the limit of open files is reached, the error names it, and the message is not called too long. */
static void test_full(void) {
        struct rlimit before, few;
        size_t n_fds;
        int pair[2];

        g_assert_cmpint(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), ==, 0);
        g_assert_cmpint(getrlimit(RLIMIT_NOFILE, &before), ==, 0);
        few = before;
        for (few.rlim_cur = 0; fcntl((int) few.rlim_cur, F_GETFD) >= 0; few.rlim_cur++)
                ;
        for (unsigned n_room = 0; n_room < MOST; n_room++, few.rlim_cur++) {
                unsigned n_open = count_open();

                g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &few), ==, 0);
                g_assert_cmpint(pass(pair, MOST, MOST, &n_fds), ==, -EMFILE);
                g_assert_cmpuint(count_open(), ==, n_open);
        }
        g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &few), ==, 0);
        g_assert_cmpint(pass(pair, MOST, MOST, &n_fds), ==, 0);
        g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &before), ==, 0);
        close(pair[0]);
        close(pair[1]);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/message/numbers", test_numbers);
        g_test_add_func("/message/full", test_full);
        return g_test_run();
}
