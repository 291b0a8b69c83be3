/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The rows of a trial, which a plugin may have written. */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "actorctl/trial.h"
#include "lib/cleanup.h"

static void count(const TrialRow *row, void *userdata) {
        unsigned *n = userdata;

        g_assert_cmpuint(row->kind, ==, TRIAL_EPISODE);
        ++*n;
}

/* Reads n ends of episodes, of which two were asked for, and returns how many of them the caller got. */
static unsigned read_episodes(unsigned n, int *ret_r) {
        const TrialRequest request = { .kind = TRIAL_PLAY_EPISODES, .n_episodes = 2 };
        const TrialRecord record = { TRIAL_EPISODE, sizeof(TrialEpisode) };
        _cleanup_close_ int fd = memfd_create("rows", MFD_CLOEXEC);
        unsigned n_taken = 0;

        for (unsigned i = 0; i < n; i++) {
                const TrialEpisode said = { .episode = i, .n_steps = 1 };

                g_assert_cmpint(write(fd, &record, sizeof(record)), ==, sizeof(record));
                g_assert_cmpint(write(fd, &said, sizeof(said)), ==, sizeof(said));
        }
        g_assert_cmpint(lseek(fd, 0, SEEK_SET), ==, 0);
        *ret_r = trial_rows_read(fd, &request, count, &n_taken);
        return n_taken;
}

static void test_episodes(void) {
        int r;

        g_assert_cmpuint(read_episodes(2, &r), ==, 2);
        g_assert_cmpint(r, ==, 0);
        g_assert_cmpuint(read_episodes(100, &r), ==, 2);
        g_assert_cmpint(r, ==, -EBADMSG);
}

/* A signal that the caller has blocked ends the reading, and stays pending for the caller. */
static void test_interrupted(void) {
        const TrialRequest request = { .kind = TRIAL_PLAY_EPISODES, .n_episodes = 2 };
        _cleanup_close_ int ours = -EBADF, theirs = -EBADF;
        unsigned n_taken = 0;
        int pair[2], number;
        sigset_t set;

        g_assert_cmpint(pipe2(pair, O_CLOEXEC), ==, 0);
        ours = pair[0];
        theirs = pair[1];
        g_assert_cmpint(sigemptyset(&set), ==, 0);
        g_assert_cmpint(sigaddset(&set, SIGTERM), ==, 0);
        g_assert_cmpint(sigprocmask(SIG_BLOCK, &set, NULL), ==, 0);
        g_assert_cmpint(raise(SIGTERM), ==, 0);
        g_assert_cmpint(trial_rows_read(ours, &request, count, &n_taken), ==, -EINTR);
        g_assert_cmpint(sigwait(&set, &number), ==, 0);
        g_assert_cmpint(number, ==, SIGTERM);
        g_assert_cmpint(sigprocmask(SIG_UNBLOCK, &set, NULL), ==, 0);
        g_assert_cmpuint(n_taken, ==, 0);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/trial/episodes", test_episodes);
        g_test_add_func("/trial/interrupted", test_interrupted);
        return g_test_run();
}
