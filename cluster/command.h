/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One of the cluster's commands in a child process: its input is a text, its output is kept up to a limit,
 * and it has a deadline. The caller polls command_fd(), and calls command_step() until it is over. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { COMMAND_OUTPUT_MAX = 1 << 20, COMMAND_WORDS_MAX = 64 };

typedef struct Command {
        pid_t pid; /* 0: none runs */
        int pid_fd, output_fd;
        uint64_t deadline_nsec;
        bool late;        /* it was killed at its deadline */
        bool long_output; /* there was more output than is kept */
        int status;       /* of waitpid() */
        size_t n_output;
        char *output; /* of both stdout and stderr; ends with a zero */
} Command;

#define COMMAND_NONE                                  \
        (Command) {                                   \
                .pid_fd = -EBADF, .output_fd = -EBADF \
        }

/* input: NULL: /dev/null. seconds 0: it may take as long as it likes. 0; -ENOENT: there is no such program;
 * -errno. */
int command_start(Command *command, char *const argv[], const char *input, unsigned seconds);
/* What to poll for POLLIN, -EBADF when none runs; and how long at most, in milliseconds, -1: for ever. */
int command_fd(const Command *command);
int command_timeout(const Command *command, uint64_t now_nsec);
/* Takes what is there. True once: it is over, and status and output stay until the next start. */
bool command_step(Command *command, uint64_t now_nsec);
/* Ends it, and frees its output. */
void command_done(Command *command);
/* Asks it to end; command_step() then says when it has. */
void command_stop(const Command *command);
/* It ended by itself with status 0, in time. */
bool command_succeeded(const Command *command);
