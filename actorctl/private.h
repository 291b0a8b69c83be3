/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A daemon of one's own: its process, and the directory where it keeps its state. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* A new directory; *ret_lock keeps others from tidying it away. keep: a number among the user's runs, of which the newest are kept;
 * else, or when home cannot be written, one of its own under /tmp, and *ret_temporary says so. */
int run_directory_make(bool keep, char **ret_path, int *ret_lock, bool *ret_temporary);
void run_directory_remove(const char *path);

/* The daemon's program. g_free() */
char *private_daemon_path(void);

/* Starts the actord beside this program, with stderr_fd as its standard error; the descriptor returned is our end of its socket. */
int private_daemon_start(const char *state_directory, int stderr_fd, pid_t *ret_pid);
/* Waits until it has ended, after its socket was closed; kills it when it does not. Returns the wait status. */
int private_daemon_wait(pid_t pid);
