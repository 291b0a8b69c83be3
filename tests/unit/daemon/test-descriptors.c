/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests that the daemon lets a separate process close a caller's directory. A directory that could not be
 * closed is closed together with the next one. */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/descriptors.h"

enum { PATIENCE_MSEC = 60000 };

/* Makes a pipe. *ret is its writing end, and stands for a directory. When its last copy is closed, the
 * reading end, which is returned, hangs up. */
static int make_directory(int *ret) {
        int pair[2];

        g_assert_cmpint(pipe2(pair, O_CLOEXEC), ==, 0);
        *ret = pair[1];
        return pair[0];
}

static bool is_closed(int other_end, int timeout_msec) {
        struct pollfd p = { .fd = other_end };

        g_assert_cmpint(poll(&p, 1, timeout_msec), >=, 0);
        return p.revents & POLLHUP;
}

static void reap(void) {
        while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
                ;
}

static void test_drop(void) {
        int directory, other_end = make_directory(&directory);

        directory_fd_drop(directory);
        g_assert_true(is_closed(other_end, PATIENCE_MSEC));
        reap();
        (void) close(other_end);
        directory_fd_drop(-EBADF);
}

/* If the daemon has no descriptor for a pipe, or cannot start a process, it closes the directory later. */
static void test_later(void) {
        int directories[2], others[2] = { make_directory(&directories[0]), make_directory(&directories[1]) };
        struct rlimit before, none;

        g_assert_cmpint(getrlimit(RLIMIT_NOFILE, &before), ==, 0);
        none = before;
        none.rlim_cur = 0;
        g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &none), ==, 0);
        directory_fd_drop(directories[0]);
        g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &before), ==, 0);
        g_assert_false(is_closed(others[0], 50));

        directory_fd_drop(directories[1]);
        for (unsigned i = 0; i < 2; i++) {
                g_assert_true(is_closed(others[i], PATIENCE_MSEC));
                (void) close(others[i]);
        }
        reap();
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/descriptors/drop", test_drop);
        g_test_add_func("/descriptors/later", test_later);
        return g_test_run();
}
