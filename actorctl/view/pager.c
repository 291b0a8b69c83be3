/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Starts a pager, as systemctl does: $ACTORD_PAGER, $SYSTEMD_PAGER, $PAGER, or less(1), which exits at
 * once if the text fits the screen. */
#include "actorctl/view/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "actorctl/view/screen.h"
#include "lib/cleanup.h"

extern char **environ;

static pid_t pager_pid;

/* "": there is no pager. If less is not installed, as in small containers, a shell would only say so, and
 * the text would be lost. */
static const char *pager_command(void) {
        static const char *const names[] = { "ACTORD_PAGER", "SYSTEMD_PAGER", "PAGER" };
        g_autofree char *less = NULL;

        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                const char *value = g_getenv(names[i]);

                if (value)
                        return value;
        }
        less = g_find_program_in_path("less");
        return less ? "less" : "";
}

/* The pager reads the pipe as its standard input, and has the default action for SIGPIPE. */
static int pager_spawn(const char *command, int fd, pid_t *ret) {
        posix_spawn_file_actions_t actions;
        posix_spawnattr_t attributes;
        sigset_t set;
        char *argv[] = { (char *) "sh", (char *) "-c", (char *) command, NULL };
        int r;

        (void) sigemptyset(&set);
        (void) sigaddset(&set, SIGPIPE);
        (void) posix_spawn_file_actions_init(&actions);
        (void) posix_spawn_file_actions_adddup2(&actions, fd, STDIN_FILENO);
        (void) posix_spawnattr_init(&attributes);
        (void) posix_spawnattr_setsigdefault(&attributes, &set);
        (void) posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
        r = -posix_spawnp(ret, "sh", &actions, &attributes, argv, environ);
        (void) posix_spawnattr_destroy(&attributes);
        (void) posix_spawn_file_actions_destroy(&actions);
        return r;
}

void pager_open(const Options *options) {
        const char *command = pager_command();
        int fds[2];

        (void) screen_columns();
        if (options->no_pager || options->json != JSON_OFF || !terminal_obeys(STDOUT_FILENO) ||
                        pager_pid > 0)
                return;
        if (command[0] == '\0' || strcmp(command, "cat") == 0)
                return;
        if (pipe2(fds, O_CLOEXEC) < 0)
                return;
        (void) g_setenv("LESS", "FRSXMK", FALSE);
        (void) fflush(stdout);
        if (pager_spawn(command, fds[0], &pager_pid) >= 0)
                (void) dup2(fds[1], STDOUT_FILENO);
        else
                pager_pid = 0;
        (void) close_fd(fds[0]);
        (void) close_fd(fds[1]);
}

void pager_close(void) {
        if (pager_pid <= 0)
                return;
        (void) fflush(stdout);
        (void) close(STDOUT_FILENO);
        (void) dup2(STDERR_FILENO, STDOUT_FILENO);
        while (waitpid(pager_pid, NULL, 0) < 0 && errno == EINTR)
                ;
        pager_pid = 0;
}
