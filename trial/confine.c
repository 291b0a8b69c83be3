/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The child in which an environment is tried, confined by the same steps as an actor; and whoever watches over it. There is no spawner
 * here and nothing to meter: the namespaces are those that the caller can make, and an ordinary user needs no more. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "actor/actor.h"
#include "actor/host.h"
#include "lib/cleanup.h"
#include "lib/environments.h"
#include "lib/fd.h"
#include "lib/sibling.h"
#include "lib/verdict.h"
#include "lib/words.h"
#include "sandbox/sandbox.h"
#include "trial/trial.h"

DEFINE_CLEANUP(Verdict *, verdict_free)

enum { TICK_MSEC = 50, FD_FLOOR = 32 };
/* Loading, one reset or one step: none takes longer where a job could use it, and people wait. What Python imports may take as long as
 * a job lets it: that depends on the disk, and on what else runs. */
#define STALL_USEC_MAX UINT64_C(10000000)

static int write_text(const char *path, const char *text) {
        _cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

        if (fd < 0)
                return -errno;
        return write_full(fd, text, strlen(text));
}

/* Namespaces of our own, in which we may build a root. Some hosts hand them out without the rights: the mount shows it. */
static int enter_namespaces(void) {
        uid_t uid = geteuid();
        gid_t gid = getegid();
        char uids[32], gids[32];
        int r;

        if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) < 0)
                return -errno;
        (void) snprintf(uids, sizeof(uids), "0 %u 1\n", (unsigned) uid);
        (void) snprintf(gids, sizeof(gids), "0 %u 1\n", (unsigned) gid);
        r = write_text("/proc/self/setgroups", "deny");
        if (r >= 0)
                r = write_text("/proc/self/gid_map", gids);
        if (r >= 0)
                r = write_text("/proc/self/uid_map", uids);
        if (r < 0)
                return r;
        return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ? -errno : 0;
}

/* Only a file of one's own mount namespace can become a mount: the same one is opened once more, from inside. */
static int plugin_reopen(void) {
        char link[32], path[4096];
        _cleanup_close_ int fd = -EBADF;
        struct stat a, b;
        ssize_t n;

        (void) snprintf(link, sizeof(link), "/proc/self/fd/%d", TRIAL_FD_PLUGIN);
        n = readlink(link, path, sizeof(path) - 1);
        if (n < 0)
                return -errno;
        path[n] = 0;
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd < 0 || fstat(fd, &a) < 0 || fstat(TRIAL_FD_PLUGIN, &b) < 0)
                return -errno;
        if (a.st_dev != b.st_dev || a.st_ino != b.st_ino)
                return -ESTALE;
        return dup3(fd, TRIAL_FD_PLUGIN, O_CLOEXEC) < 0 ? -errno : 0;
}

/* Whether the one who asks brought a plugin, or a directory of Python packages or of a model. */
static bool brings(const Trial *trial) {
        return environment_is_file(trial->settings->environment) || environment_directory(trial->settings);
}

bool trial_runs_foreign_code(const Trial *trial) {
        return !trial->env || environment_is_foreign(trial->settings->environment);
}

static int choose_level(Trial *trial) {
        uint32_t choice = trial->settings->sandbox;
        int r;

        if (choice == SANDBOX_CHOICE_NONE || choice == SANDBOX_CHOICE_PROCESS) {
                trial->level = sandbox_choice_level(choice);
                return 0;
        }
        if (choice == SANDBOX_CHOICE_FULL)
                return -EPERM; /* user ids that are nobody else's are the spawner's to give */

        r = enter_namespaces();
        if (r >= 0 && brings(trial))
                r = plugin_reopen();
        trial->level = r >= 0 ? SANDBOX_LEVEL_USERNS : SANDBOX_LEVEL_PROCESS;
        return choice == SANDBOX_CHOICE_USERNS ? r : 0;
}

static int prepare_sandbox(Trial *trial) {
        const char *directory = environment_directory(trial->settings);
        LaunchMount brought = { .at = PLUGIN_DIRECTORY "environment.so", .read_only = 1 };
        const SandboxSpec spec = {
                .kind = SANDBOX_ACTOR,
                .level = trial->level,
                .n_uids = 1,
                .settings = trial->settings,
                .mounts = &brought,
                .n_mounts = brings(trial),
                .libraries = trial_runs_foreign_code(trial),
                .interpreter = environment_is_gym(trial->settings->environment),
                .memory_max_bytes = trial->settings->memory_max_bytes,
                .fd_floor = FD_FLOOR,
                .executable_fd = -EBADF,
                .state_fd = -EBADF,
        };
        uint32_t missing;
        int r;

        static_assert((int) TRIAL_FD_PLUGIN == (int) INVOKER_FD_MOUNTS, "a sandbox looks for mounts there");
        if (directory)
                (void) snprintf(brought.at, sizeof(brought.at), "%s", directory);
        (void) snprintf(trial->plugin, sizeof(trial->plugin), "%s",
                        trial->level >= SANDBOX_LEVEL_USERNS ? brought.at : "/proc/self/fd/16");
        r = sandbox_new(&spec, &trial->sandbox, &missing);
        return r < 0 ? r : sandbox_leave_host();
}

/* As in the invoker: what an administrator installed loads before the fork, and reads its models at its first spec(). */
static int load_installed(Trial *trial, const char *directory) {
        ActordEnvSpec spec = {};
        int r;

        if (environment_loads_packages(trial->settings->environment))
                return environment_load_packages(trial->settings, directory,
                                brings(trial) ? TRIAL_FD_PLUGIN : -1, &trial->env);
        if (environment_is_mjcf(trial->settings->environment))
                return environment_load_mjcf(trial->settings, directory, TRIAL_FD_PLUGIN, &trial->env);
        r = environment_load_for(trial->settings, directory, &trial->env);
        if (r < 0)
                return r;
        return trial->env->spec(trial->settings->options, trial->settings->n_options, &spec);
}

TrialProblem trial_prepare(Trial *trial, int32_t *ret_detail) {
        char directory[SIBLING_DIRECTORY_MAX];
        void *page;
        int r;

        page = mmap(NULL, sizeof(TrialPage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        r = page == MAP_FAILED ? -ENOMEM : sibling_directory(directory);
        if (r < 0) {
                *ret_detail = -r;
                return TRIAL_PROBLEM_SETUP;
        }
        trial->page = page;

        if (!environment_is_file(trial->settings->environment)) {
                r = load_installed(trial, directory);
                if (r < 0) {
                        trial->page->fault = FAULT_LOAD;
                        *ret_detail = -r;
                        return TRIAL_PROBLEM_FAULT;
                }
        }
        r = choose_level(trial);
        if (r < 0) {
                *ret_detail = -r;
                return TRIAL_PROBLEM_LEVEL;
        }
        r = prepare_sandbox(trial);
        *ret_detail = -r;
        return r < 0 ? TRIAL_PROBLEM_SETUP : TRIAL_PROBLEM_NONE;
}

void trial_done(Trial *trial) {
        trial->sandbox = sandbox_free(trial->sandbox);
        fd_unmap(trial->page, sizeof(TrialPage));
        trial->page = NULL;
}

void trial_catalogue(void) {
        char directory[SIBLING_DIRECTORY_MAX];

        if (sibling_directory(directory) < 0)
                return;
        for (size_t i = 0; i < environment_count(); i++) {
                TrialSpec said = {};
                const ActordEnv *env;

                if (environment_load(environment_at(i)->name, directory, &env) >= 0 &&
                                env->spec(NULL, 0, &said.spec) >= 0)
                        trial_say(TRIAL_SPEC, &said, sizeof(said), NULL, 0);
        }
}

static void on_abort(int signal) {
        _exit(EXIT_ABORTED);
}

static _Noreturn void child(
                const Trial *trial, bool inside, Verdict *verdict, TrialChild f, const void *userdata) {
        int keep[] = { TRIAL_FD_ROWS, TRIAL_FD_PLUGIN };
        const SandboxEntry entry = {
                .uid = 1,
                .keep_fds = keep,
                .n_keep_fds = brings(trial) && trial->level < SANDBOX_LEVEL_USERNS ? 2 : 1,
                .cgroup_fd = -EBADF,
                .mapped_bytes = sizeof(TrialPage),
                .name = "actord-actor",
                .verdict = verdict,
        };
        const ActordEnv *env = trial->env;

        /* As process 1 of a namespace it would not die of abort() itself. */
        (void) signal(SIGABRT, on_abort);
        if (inside)
                sandbox_enter(trial->sandbox, &entry);
        if (!env && plugin_load(trial->plugin, &env) < 0)
                _exit(EXIT_ENVIRONMENT_LOAD);
        f(trial, env, userdata);
        trial->page->finished = 1;
        _exit(EXIT_SUCCESS);
}

static pid_t fork_child(uint64_t flags, int *ret_pid_fd) {
        struct clone_args args = {
                .flags = flags | CLONE_PIDFD, .pidfd = (uintptr_t) ret_pid_fd, .exit_signal = SIGCHLD
        };
        pid_t pid;

        if (flags != 0)
                return (pid_t) syscall(SYS_clone3, &args, sizeof(args));
        /* Level process is for places where clone3() is forbidden. */
        pid = fork();
        if (pid > 0)
                *ret_pid_fd = pidfd_open(pid, 0);
        return pid;
}

/* Until it ends, or nothing has moved for so long. */
static bool watch(const Trial *trial, int pid_fd, uint64_t stall_usec) {
        struct pollfd p = { .fd = pid_fd, .events = POLLIN };
        uint64_t seen = 0, idle_usec = 0;

        while (poll(&p, 1, TICK_MSEC) <= 0) {
                uint64_t now = atomic_load(&trial->page->progress);

                idle_usec = now == seen ? idle_usec + TICK_MSEC * 1000 : 0;
                seen = now;
                if (idle_usec >= stall_usec) {
                        (void) pidfd_send_signal(pid_fd, SIGKILL, NULL, 0);
                        return false;
                }
        }
        return true;
}

/* failed: what its sandbox told; an exit status is the word of what runs in it. */
static Fault classify(const Trial *trial, int status, uint32_t failed, int32_t *ret_detail) {
        if (WIFSIGNALED(status)) {
                *ret_detail = WTERMSIG(status);
                return WTERMSIG(status) == SIGSYS ? FAULT_SYSCALL : FAULT_KILLED;
        }
        *ret_detail = WEXITSTATUS(status);
        if (WEXITSTATUS(status) == EXIT_ABORTED) {
                *ret_detail = SIGABRT;
                return FAULT_KILLED;
        }
        if (WEXITSTATUS(status) == EXIT_SUCCESS && trial->page->finished) {
                *ret_detail = trial->page->detail;
                return trial->page->fault < _FAULT_MAX ? trial->page->fault : FAULT_ANSWER;
        }
        if (WEXITSTATUS(status) == EXIT_ENVIRONMENT_LOAD) {
                *ret_detail = ENOEXEC;
                return FAULT_LOAD;
        }
        if (failed == 0)
                return FAULT_EXITED;
        *ret_detail = (int32_t) failed - 1;
        return FAULT_SANDBOX;
}

Fault trial_run(Trial *trial, bool inside, TrialChild f, const void *userdata, int32_t *ret_detail) {
        uint64_t stall_usec = trial->settings->timeout_usec;
        _cleanup_(verdict_freep) Verdict *verdict = NULL;
        _cleanup_close_ int pid_fd = -EBADF;
        int status = 0;
        bool ended;
        pid_t pid;

        if (!environment_is_gym(trial->settings->environment) && stall_usec > STALL_USEC_MAX)
                stall_usec = STALL_USEC_MAX;
        memset(trial->page, 0, sizeof(*trial->page));
        verdict = verdict_new();
        if (!verdict) {
                *ret_detail = ENOMEM;
                return FAULT_INTERNAL;
        }
        pid = fork_child(inside ? sandbox_clone_flags(trial->sandbox) : 0, &pid_fd);
        if (pid == 0)
                child(trial, inside, verdict, f, userdata);
        if (pid < 0 || pid_fd < 0) {
                *ret_detail = errno;
                return FAULT_INTERNAL;
        }

        ended = watch(trial, pid_fd, stall_usec);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
        if (!ended) {
                *ret_detail = (int32_t) (stall_usec / 1000000);
                return FAULT_TIMEOUT;
        }
        return classify(trial, status, verdict->failed, ret_detail);
}
