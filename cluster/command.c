/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cluster/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lib/boottime.h"
#include "lib/cleanup.h"
#include "lib/fd.h"

enum { LATE_LOOK_MSEC = 100 };

extern char **environ;

void command_set_environment(void) {
        static const char *const prefixes[] = { "SBATCH_", "SBCAST_", "SQUEUE_", "SCANCEL_", "SINFO_",
                "SLURM_TIME_FORMAT", "SLURM_JOB_ID", "SLURM_JOBID", "SLURM_EXPORT_ENV" };

        for (size_t i = 0; environ[i];) {
                const char *variable = environ[i];
                _cleanup_free_ char *name = strndup(variable, strcspn(variable, "="));
                bool ours = false;

                for (size_t k = 0; k < ELEMENTSOF(prefixes); k++)
                        ours |= strncmp(variable, prefixes[k], strlen(prefixes[k])) == 0;
                if (!ours || !name || unsetenv(name) < 0 || environ[i] == variable)
                        i++;
        }
        (void) setenv("TZ", "UTC", 1);
        (void) setenv("LC_ALL", "C", 1);
}

/* Starts the program without blocked signals, in a process group of its own, so that its children can be
 * killed with it. */
static int spawn(char *const argv[], int input_fd, int output_fd, pid_t *ret) {
        posix_spawn_file_actions_t actions;
        posix_spawnattr_t attributes;
        sigset_t none;
        int r;

        (void) sigemptyset(&none);
        r = posix_spawn_file_actions_init(&actions);
        if (r != 0)
                return -r;
        r = posix_spawnattr_init(&attributes);
        if (r != 0) {
                (void) posix_spawn_file_actions_destroy(&actions);
                return -r;
        }
        (void) posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
        (void) posix_spawnattr_setpgroup(&attributes, 0);
        (void) posix_spawnattr_setsigmask(&attributes, &none);
        r = posix_spawn_file_actions_adddup2(&actions, input_fd, STDIN_FILENO);
        if (r == 0)
                r = posix_spawn_file_actions_adddup2(&actions, output_fd, STDOUT_FILENO);
        if (r == 0)
                r = posix_spawn_file_actions_adddup2(&actions, output_fd, STDERR_FILENO);
        if (r == 0)
                r = posix_spawnp(ret, argv[0], &actions, &attributes, argv, environ);
        (void) posix_spawnattr_destroy(&attributes);
        (void) posix_spawn_file_actions_destroy(&actions);
        return -r;
}

static int open_input(const char *input) {
        int fd = input ? memfd_make_sealed("input", input, strlen(input))
                       : open("/dev/null", O_RDONLY | O_CLOEXEC);

        return fd < 0 && !input ? -errno : fd;
}

int command_start(Command *command, char *const argv[], const char *input, unsigned seconds) {
        _cleanup_close_ int input_fd = open_input(input), ours = -EBADF, theirs = -EBADF;
        int pair[2], r;

        if (input_fd < 0)
                return input_fd;
        if (!command->output) {
                command->output = malloc(COMMAND_OUTPUT_MAX + 1);
                if (!command->output)
                        return -ENOMEM;
        }
        if (pipe2(pair, O_CLOEXEC) < 0)
                return -errno;
        ours = pair[0];
        theirs = pair[1];
        if (fcntl(ours, F_SETFL, O_NONBLOCK) < 0)
                return -errno;
        r = spawn(argv, input_fd, theirs, &command->pid);
        if (r < 0) {
                command->pid = 0;
                return r;
        }
        command->pid_fd = (int) syscall(SYS_pidfd_open, command->pid, 0);
        command->output_fd = TAKE_FD(ours);
        command->deadline_nsec = seconds > 0 ? clock_boottime() + seconds * 1000000000ull : 0;
        command->late = command->long_output = false;
        command->n_output = 0;
        command->output[0] = 0;
        return 0;
}

int command_fd(const Command *command) {
        if (command->pid == 0)
                return -EBADF;
        return command->output_fd >= 0 ? command->output_fd : command->pid_fd;
}

int command_timeout(const Command *command, uint64_t now_nsec) {
        if (command->pid == 0 || command->deadline_nsec == 0)
                return -1;
        /* It was killed, but has not ended: it may wait for a file system that does not answer. */
        if (command->late)
                return LATE_LOOK_MSEC;
        if (command->deadline_nsec <= now_nsec)
                return 0;
        return (int) ((command->deadline_nsec - now_nsec) / 1000000) + 1;
}

static void take_output(Command *command) {
        char more[4096];

        for (;;) {
                ssize_t n = read(command->output_fd, more, sizeof(more));
                size_t fits;

                if (n < 0 && (errno == EAGAIN || errno == EINTR))
                        return;
                if (n <= 0) {
                        command->output_fd = close_fd(command->output_fd);
                        return;
                }
                fits = COMMAND_OUTPUT_MAX - command->n_output;
                if ((size_t) n > fits)
                        command->long_output = true;
                else
                        fits = (size_t) n;
                memcpy(command->output + command->n_output, more, fits);
                command->n_output += fits;
                command->output[command->n_output] = 0;
        }
}

bool command_step(Command *command, uint64_t now_nsec) {
        if (command->pid == 0)
                return false;
        if (command->deadline_nsec > 0 && now_nsec >= command->deadline_nsec && !command->late) {
                command->late = true;
                (void) kill(-command->pid, SIGKILL);
        }
        if (command->output_fd >= 0)
                take_output(command);
        /* A process that the command left behind may keep the pipe open for ever. So the command is over
         * when its own process has ended. */
        if (waitpid(command->pid, &command->status, WNOHANG) <= 0)
                return false;
        if (command->output_fd >= 0)
                take_output(command);
        command->output_fd = close_fd(command->output_fd);
        command->pid_fd = close_fd(command->pid_fd);
        command->pid = 0;
        return true;
}

void command_stop(const Command *command) {
        if (command->pid > 0)
                (void) kill(-command->pid, SIGTERM);
}

void command_done(Command *command) {
        if (command->pid > 0) {
                (void) kill(-command->pid, SIGKILL);
                while (waitpid(command->pid, NULL, 0) < 0 && errno == EINTR)
                        ;
        }
        command->pid = 0;
        command->pid_fd = close_fd(command->pid_fd);
        command->output_fd = close_fd(command->output_fd);
        free(command->output);
        command->output = NULL;
}

bool command_succeeded(const Command *command) {
        return !command->late && WIFEXITED(command->status) && WEXITSTATUS(command->status) == 0;
}
