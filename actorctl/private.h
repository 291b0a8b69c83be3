/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A private daemon: its process, and the directory of its state. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

#include "actorctl/actorctl.h"

/* Makes a new directory; *ret_lock keeps other programs from removing it. keep: the directory gets a number
 * among the user's runs; the newest runs are kept. Otherwise it is made in /tmp without a lock, and
 * *ret_temporary is true. If the home directory cannot be written, it is made there, too, but stays. 0; or a
 * negative errno, with a message. */
int run_directory_make(bool keep, char **ret_path, int *ret_lock, bool *ret_temporary);
void run_directory_remove(const char *path);
/* Whether the path does not exist, or is a directory with nothing but the state of a private daemon. Other
 * directories must not be removed. */
bool run_directory_is_state(const char *path);
/* Removes old runs. Keeps the newest run, the newest 20 others with a policy, and 20 without. */
void run_directories_prune(const char *newest);
/* The numbers of the user's runs, ascending; g_array_unref(). */
GArray *run_directory_numbers(void);
/* Whether a job of the run left a checkpoint, even one of round 0. */
bool run_directory_has_checkpoint(const char *path);
/* Whether a word names a run and not a job: "r7", or a directory with a ledger. A number always names a
 * job. */
bool word_names_run(const char *word);
/* Whether a path cannot be read, so that word_names_run() cannot tell. */
bool word_is_closed(const char *word);
/* The directory of the run that a word names: "7", "r7" or a path; g_free(). It may not exist. */
char *run_directory_of(const char *word);
/* Whether the run exists. word: as the user gave it. STATUS_OK; or, with a message, STATUS_USAGE: it does
 * not exist; STATUS_FAILED: it cannot be opened. */
ExitStatus run_directory_check(const char *directory, const char *word);
/* Keeps other programs from using or removing the run. A descriptor, or a negative errno. */
int run_directory_lock(const char *directory);
/* Keeps other programs from removing the run, but lets them read it. Returns a descriptor; -EWOULDBLOCK: the
 * run is in progress; or another negative errno. */
int run_directory_lock_shared(const char *directory);
/* The run's name for `actorctl recover`: "r7" among the user's runs, otherwise its path. g_free() */
char *run_directory_word(const char *path);

/* The directory of actord's other programs and modules, and the path of one program. g_free() */
char *private_directory(void);
char *private_program_path(const char *program);

/* Starts a program of actord with fd as its descriptor 3, and stderr_fd as its standard error and its
 * standard output. The program inherits no other descriptor, and does not get the terminal's Ctrl-C. 0; or a
 * negative errno, with a message. */
int private_spawn(const char *program, const char *const argv[], int fd, int stderr_fd, pid_t *ret_pid);

/* Starts the actord beside this program, or the installed one, with stderr_fd as its standard error. Returns
 * this program's end of the socket; or a negative errno, with a message. option: --inspect, --temporary
 * (actord(8)), or NULL for none. */
int private_daemon_start(const char *state_directory, const char *option, int stderr_fd, pid_t *ret_pid);
/* For a daemon that has closed its socket by itself: says how it ended, as a predicate, with advice if a
 * limit may be the reason; g_free(). private_daemon_wait() must still be called. */
char *private_daemon_fate(pid_t pid);
/* Waits for the end of the daemon after its socket was closed, and kills it if it does not end. Returns its
 * wait status. */
int private_daemon_wait(pid_t pid);
