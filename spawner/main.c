/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* actord-spawn. In system mode systemd starts it by socket activation. Otherwise it carries out one launch
 * from an inherited connection (--fd=N). Each launch has a process of its own, since a launch may hang in a
 * file system that a user serves. */
#include <errno.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>
#include "lib/cleanup.h"
#include "lib/limits.h"
#include "lib/string-tables.h"
#include "spawner/spawner.h"

#define DAEMON_USER "_actord"

enum { IDLE_MSEC = 30000, FULL_MSEC = 20, EXIT_USAGE = 2 };

static int usage(FILE *f) {
        (void) fprintf(f, "actord-spawn [--fd=N] [--least-sandbox=LEVEL]\n\n"
                          "Starts the invoker of an actord job. systemd starts it through\n"
                          "actord-spawn.socket; actord or actorctl start it with a connected socket.\n"
                          "It is not meant to be started by hand.\n\n"
                          "  --fd=N                  serve the one launch that comes over descriptor N\n"
                          "  --least-sandbox=LEVEL   launch nothing below this level: none, process\n"
                          "                          (the system's service), userns or full\n"
                          "  --help                  this text\n"
                          "  --version               the version\n");
        return f == stdout ? EXIT_SUCCESS : EXIT_USAGE;
}

static void reap(Seat *seats) {
        pid_t pid;

        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
                for (size_t i = 0; i < LAUNCHES_MAX; i++)
                        if (seats[i].pid == pid)
                                seats[i] = (Seat){};
}

/* Finds a free seat (the place of a running launch), or NULL if there is none. Returns how many seats are
 * taken. */
static unsigned find_seat(Seat *seats, Seat **ret) {
        unsigned n = 0;

        *ret = NULL;
        reap(seats);
        for (size_t i = 0; i < LAUNCHES_MAX; i++)
                if (seats[i].pid > 0)
                        n++;
                else if (!*ret)
                        *ret = seats + i;
        return n;
}

/* Starts a process for this launch and gives it everything that it needs. */
static void start_launch(int fd, int listen_fd, Terms *terms) {
        pid_t pid;

        *terms->seat = (Seat){ .submitter = UINT32_MAX };
        pid = fork();
        if (pid == 0) {
                (void) close(listen_fd);
                _exit(spawner_serve(fd, terms) < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
        }
        if (pid > 0)
                __atomic_store_n(&terms->seat->pid, pid, __ATOMIC_SEQ_CST);
        else
                (void) fprintf(stderr, SD_ERR "A process for a launch cannot be made: %s.\n",
                                strerror(errno));
}

/* Accepts launches, each of which takes one of LAUNCHES_MAX seats. While all seats are taken, callers wait
 * in the socket's queue. Ends when idle; systemd starts the program again. */
static int serve_socket(int listen_fd, uint32_t least_sandbox) {
        const struct passwd *user = getpwnam(DAEMON_USER);
        Terms terms = { .system = true, .least_sandbox = least_sandbox };

        if (!user) {
                (void) fprintf(stderr, SD_ERR "There is no user %s: run systemd-sysusers.\n", DAEMON_USER);
                return EXIT_FAILURE;
        }
        terms.daemon_uid = user->pw_uid;
        terms.seats = mmap(NULL, LAUNCHES_MAX * sizeof(Seat), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (terms.seats == MAP_FAILED)
                return EXIT_FAILURE;
        (void) sd_notify(0, "READY=1");

        for (;;) {
                struct pollfd p = { .fd = listen_fd, .events = POLLIN };
                unsigned n = find_seat(terms.seats, &terms.seat);
                _cleanup_close_ int fd = -EBADF;
                int r;

                if (!terms.seat) {
                        (void) poll(NULL, 0, FULL_MSEC);
                        continue;
                }
                r = poll(&p, 1, IDLE_MSEC);
                if (r == 0 && n == 0)
                        return EXIT_SUCCESS;
                if (r < 0 && errno != EINTR)
                        return EXIT_FAILURE;
                if (r <= 0)
                        continue;
                fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
                if (fd >= 0)
                        start_launch(fd, listen_fd, &terms);
        }
}

/* Parses a word of SandboxLevel. */
static bool parse_level(const char *word, uint32_t *ret) {
        for (uint32_t level = 0; level < _SANDBOX_LEVEL_MAX; level++)
                if (strcmp(word, sandbox_level_to_string(level)) == 0) {
                        *ret = level;
                        return true;
                }
        return false;
}

int main(int argc, char *argv[]) {
        static const char least_option[] = "--least-sandbox=";
        uint32_t least = SANDBOX_LEVEL_NONE;
        char *end = NULL;
        long fd;

        if (argc == 2 && strcmp(argv[1], "--help") == 0)
                return usage(stdout);
        if (argc == 2 && strcmp(argv[1], "--version") == 0)
                return printf("actord-spawn " ACTORD_VERSION "\n") < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
        if (argc > 1 && strncmp(argv[argc - 1], least_option, strlen(least_option)) == 0) {
                if (!parse_level(argv[argc - 1] + strlen(least_option), &least))
                        return usage(stderr);
                argc--;
        }

        limits_prepare();
        if (argc == 1 && sd_listen_fds(true) == 1 &&
                        sd_is_socket(SD_LISTEN_FDS_START, AF_UNIX, SOCK_SEQPACKET, 1) > 0)
                return serve_socket(SD_LISTEN_FDS_START, least);
        if (argc != 2 || strncmp(argv[1], "--fd=", 5) != 0)
                return usage(stderr);

        fd = strtol(argv[1] + 5, &end, 10);
        if (*end || end == argv[1] + 5 || fd < 3 || fd > 1023 ||
                        sd_is_socket((int) fd, AF_UNIX, SOCK_SEQPACKET, 0) <= 0)
                return usage(stderr);
        return spawner_serve((int) fd, &(Terms){ .least_sandbox = least }) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
