/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "actorctl/view/keys.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

static struct termios before;
static bool open_now;

bool keys_are_lent(void) {
        pid_t group = tcgetpgrp(STDIN_FILENO);

        return group >= 0 && group != getpgrp();
}

/* After Ctrl-Z and bg the shell has the terminal and has changed its settings, so nothing is restored. */
void keys_close(void) {
        if (!open_now)
                return;
        if (!keys_are_lent())
                (void) tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
        (void) signal(SIGTTIN, SIG_DFL);
        open_now = false;
}

/* Changes the terminal only from the foreground: the kernel would stop a program that does so from the
 * background. */
static int change_terminal(tcflag_t without) {
        static bool registered;
        struct termios changed;

        if (!isatty(STDIN_FILENO) || tcgetpgrp(STDIN_FILENO) != getpgrp())
                return -ENOTTY;
        if (tcgetattr(STDIN_FILENO, &before) < 0)
                return -errno;
        changed = before;
        changed.c_lflag &= ~without;
        if (without & ICANON) {
                changed.c_cc[VMIN] = 1;
                changed.c_cc[VTIME] = 0;
        }
        if (tcsetattr(STDIN_FILENO, TCSADRAIN, &changed) < 0)
                return -errno;
        /* With SIGTTIN ignored, reading in the background fails with EIO, and does not stop this program. */
        (void) signal(SIGTTIN, SIG_IGN);
        open_now = true;
        if (!registered)
                (void) atexit(keys_close);
        registered = true;
        return STDIN_FILENO;
}

int keys_open(void) {
        return change_terminal(ICANON | ECHO);
}

void keys_hush(void) {
        (void) change_terminal(ECHO);
}
