/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* actord-spawn: socket-activated in system mode, one launch from an inherited connection (--fd=N) otherwise. */
#include <errno.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>
#include "lib/cleanup.h"
#include "lib/limits.h"
#include "spawner/spawner.h"

#define DAEMON_USER "_actord"

enum { IDLE_MSEC = 30000, EXIT_USAGE = 2 };

static int usage(FILE *f) {
        (void) fprintf(f,
                        "actord-spawn [--fd=N]\n\n"
                        "Starts the invoker of an actord job. Started by systemd through actord-spawn.socket, or by\n"
                        "actord itself with a connected socket; not meant to be started by hand.\n\n"
                        "  --fd=N     serve the one launch that comes over descriptor N\n"
                        "  --help     this text\n"
                        "  --version  the version\n");
        return f == stdout ? EXIT_SUCCESS : EXIT_USAGE;
}

/* One after another: a launch takes milliseconds, and waiting callers queue in the socket. Idle, it ends; systemd starts it again. */
static int serve_socket(int listen_fd) {
        const struct passwd *user = getpwnam(DAEMON_USER);

        if (!user) {
                (void) fprintf(stderr, SD_ERR "There is no user %s: run systemd-sysusers.\n", DAEMON_USER);
                return EXIT_FAILURE;
        }
        /* Invokers outlive their launch; when one ends while we are here, nobody asks for its status. */
        (void) signal(SIGCHLD, SIG_IGN);
        (void) sd_notify(0, "READY=1");

        for (;;) {
                struct pollfd p = { .fd = listen_fd, .events = POLLIN };
                struct sockaddr_storage peer;
                socklen_t n = sizeof(peer);
                _cleanup_close_ int fd = -EBADF;
                int r = poll(&p, 1, IDLE_MSEC);

                if (r == 0)
                        return EXIT_SUCCESS;
                if (r < 0 && errno != EINTR)
                        return EXIT_FAILURE;
                fd = accept4(listen_fd, (struct sockaddr *) &peer, &n, SOCK_CLOEXEC | SOCK_NONBLOCK);
                if (fd >= 0)
                        (void) spawner_serve(fd, true, user->pw_uid);
        }
}

int main(int argc, char *argv[]) {
        char *end = NULL;
        long fd;

        if (argc == 2 && strcmp(argv[1], "--help") == 0)
                return usage(stdout);
        if (argc == 2 && strcmp(argv[1], "--version") == 0)
                return printf("actord-spawn " ACTORD_VERSION "\n") < 0 ? EXIT_FAILURE : EXIT_SUCCESS;

        limits_prepare();
        if (argc == 1 && sd_listen_fds(true) == 1 &&
                        sd_is_socket(SD_LISTEN_FDS_START, AF_UNIX, SOCK_SEQPACKET, 1) > 0)
                return serve_socket(SD_LISTEN_FDS_START);
        if (argc != 2 || strncmp(argv[1], "--fd=", 5) != 0)
                return usage(stderr);

        fd = strtol(argv[1] + 5, &end, 10);
        if (*end || end == argv[1] + 5 || fd < 3 || fd > 1023 ||
                        sd_is_socket((int) fd, AF_UNIX, SOCK_SEQPACKET, 0) <= 0)
                return usage(stderr);
        return spawner_serve((int) fd, false, 0) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
