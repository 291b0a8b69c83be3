/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs one of the cluster's commands in a child process. The command gets a text as its input, its output is
 * kept up to a limit, and it has a deadline. The caller polls command_fd(), and calls command_step() until
 * the command is over. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { COMMAND_OUTPUT_MAX = 1 << 20, COMMAND_WORDS_MAX = 64 };

typedef struct Command {
        pid_t pid; /* 0: none is running */
        int pid_fd, output_fd;
        uint64_t deadline_nsec;
        bool late;        /* it was killed at its deadline */
        bool long_output; /* its output was longer than the limit */
        int status;       /* as waitpid() returned it */
        size_t n_output;
        char *output; /* both stdout and stderr, NUL-terminated */
} Command;

#define COMMAND_NONE                                  \
        (Command) {                                   \
                .pid_fd = -EBADF, .output_fd = -EBADF \
        }

/* Removes the environment variables by which a user changes Slurm's commands, and sets UTC and the locale C:
 * the commands' output must not depend on the user. */
void command_set_environment(void);
/* input NULL: /dev/null. seconds 0: there is no deadline. 0; -ENOENT: there is no such program; -errno. */
int command_start(Command *command, char *const argv[], const char *input, unsigned seconds);
/* The descriptor to poll for POLLIN (-EBADF: no command runs), and the longest wait in milliseconds (-1: no
 * limit). */
int command_fd(const Command *command);
int command_timeout(const Command *command, uint64_t now_nsec);
/* Reads the output so far, and kills the command at its deadline. Returns true once, when the command is
 * over; status and output stay until the next start. */
bool command_step(Command *command, uint64_t now_nsec);
/* Kills the command if it still runs, and frees its output. */
void command_done(Command *command);
/* Asks the command to end. command_step() returns true when it has ended. */
void command_stop(const Command *command);
/* Whether the command has ended by itself, in time and with status 0. */
bool command_succeeded(const Command *command);
