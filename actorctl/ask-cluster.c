/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "actorctl/ask-cluster.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "actorctl/private.h"
#include "include/cluster.h"
#include "lib/cleanup.h"
#include "lib/fd.h"

enum { WORDS_MAX = 1024 };

int ask_cluster(const JobSettings *settings, char **ret_words) {
        const char *argv[] = { CLUSTER_PROGRAM, "--verify", NULL };
        _cleanup_close_ int settings_fd = -EBADF, ours = -EBADF, theirs = -EBADF;
        _cleanup_free_ char *words = NULL;
        size_t n;
        int pair[2], status = 0, r;
        pid_t pid;

        settings_fd = memfd_make_sealed("settings", settings, sizeof(*settings));
        r = settings_fd;
        if (r >= 0 && pipe2(pair, O_CLOEXEC) < 0)
                r = -errno;
        if (r < 0) {
                *ret_words = g_strdup(g_strerror(-r));
                return r;
        }
        ours = pair[0];
        theirs = pair[1];
        r = private_spawn(argv[0], argv, settings_fd, theirs, &pid);
        if (r < 0) {
                *ret_words = g_strdup(CLUSTER_PROGRAM " was not built: libmunge or GnuTLS was missing");
                return r;
        }
        (void) close_fd(TAKE_FD(theirs));
        /* This wait needs no deadline, since actord-cluster ends on its own. */
        r = read_all(ours, WORDS_MAX, &words, &n);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
        if (status == 0)
                return 0;
        *ret_words = r >= 0 && n > 0 ? g_strchomp(g_strndup(words, n))
                                     : g_strdup(CLUSTER_PROGRAM " has failed");
        return -EREMOTEIO;
}
