/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tests/unit/sandbox-fixture.h"

#include <linux/sched.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <stdio.h>

#include "lib/cleanup.h"

JobSettings case_settings;

char *shared_words;

static uint64_t reserve_words(void) {
        const int reserve = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
        uint64_t at = 5 * SANDBOX_WORDS_BYTES;

        if (!sandbox_has_high_addresses() ||
                        mmap((void *) at, SANDBOX_WORDS_BYTES, PROT_NONE, reserve, -1, 0) == MAP_FAILED)
                return 0;
        shared_words = mmap((void *) (at + 4096), 4096, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        return at;
}

static int write_text(const char *path, const char *text) {
        _cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

        if (fd < 0)
                return -errno;
        return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

/* Does what the spawner does before it starts an invoker. As root it maps a range of user ids, otherwise
 * only the user's own id. */
static int enter_namespaces(uint32_t *ret_n_uids) {
        uid_t uid = getuid();
        char map[64];
        int to_child[2], status;
        pid_t helper;

        if (uid != 0) {
                if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) < 0)
                        return -errno;
                (void) snprintf(map, sizeof(map), "0 %u 1", uid);
                if (write_text("/proc/self/setgroups", "deny") < 0 ||
                                write_text("/proc/self/uid_map", map) < 0)
                        return -EPERM;
                (void) snprintf(map, sizeof(map), "0 %u 1", getgid());
                *ret_n_uids = 1;
                return write_text("/proc/self/gid_map", map);
        }

        /* Only a process outside the user namespace can map a range of ids. */
        if (pipe2(to_child, O_CLOEXEC) < 0)
                return -errno;
        helper = fork();
        if (helper == 0) {
                char path[64], byte;

                if (read(to_child[0], &byte, 1) != 1)
                        _exit(1);
                (void) snprintf(path, sizeof(path), "/proc/%d/uid_map", getppid());
                if (write_text(path, "0 300000 65536") < 0)
                        _exit(1);
                (void) snprintf(path, sizeof(path), "/proc/%d/gid_map", getppid());
                _exit(write_text(path, "0 300000 65536") < 0);
        }
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) < 0)
                return -errno;
        (void) !write(to_child[1], "x", 1);
        if (waitpid(helper, &status, 0) != helper || status != 0)
                return -EPERM;
        if (setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0)
                return -errno;
        *ret_n_uids = 65536;
        return 0;
}

static pid_t clone_child(uint64_t flags) {
        struct clone_args args = { .flags = flags, .exit_signal = SIGCHLD };

        return (pid_t) syscall(SYS_clone3, &args, sizeof(args));
}

enum { MANY = 500 }; /* descriptors of a parent that shares them */

static void list_open(bool open[MANY]) {
        for (int fd = 0; fd < MANY; fd++)
                open[fd] = fcntl(fd, F_GETFD) >= 0;
}

/* Fills the table with descriptors, up to number MANY - 1. Returns a low one that is an eventfd. */
static int fill_table(void) {
        int apart_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), fd;

        if (apart_fd < 0)
                return -errno;
        do
                fd = dup(apart_fd);
        while (fd >= 0 && fd < MANY - 1);
        return fd < 0 ? -errno : apart_fd;
}

static bool table_is_as_before(const bool before[MANY], int apart_fd) {
        bool now[MANY];
        uint64_t signals;

        list_open(now);
        return memcmp(now, before, sizeof(now)) == 0 && read(apart_fd, &signals, sizeof(signals)) > 0 &&
               signals == 1;
}

static _Noreturn void play_actor(const Case *c, const Sandbox *sandbox, int apart_fd) {
        int bad[2] = { 9, 8 };
        SandboxEntry entry = {
                .uid = TEST_UID,
                .keep_fds = c->bad_keep ? bad : &c->keep_fd,
                .n_keep_fds = c->bad_keep ? 2 : c->keep_fd >= 0,
                .apart_fd = apart_fd,
                .cgroup_fd = c->cgroup_fd,
                .words_at = reserve_words(),
                .mapped_bytes = SANDBOX_WORDS_BYTES,
                .name = "actord-actor",
        };

        sandbox_enter(sandbox, &entry);
        syscall(SYS_exit_group, c->act());
        abort();
}

static _Noreturn void play_invoker(const Case *c) {
        SandboxSpec spec = {
                .kind = c->kind,
                .level = c->level,
                .n_uids = 1,
                .settings = &case_settings,
                .memory_max_bytes = case_settings.memory_max_bytes,
                .libraries = c->libraries,
                .interpreter = c->interpreter,
                .fd_floor = FD_FLOOR,
                .executable_fd = -EBADF,
                .state_fd = -EBADF,
        };
        const LaunchMount mount = { .at = MEMORY_AT, .read_only = 1 };
        Sandbox *sandbox = NULL;
        bool before[MANY];
        uint32_t missing;
        int status, apart_fd = -EBADF;
        pid_t pid;

        /* A child's complaints do not belong in the test's output. */
        if (freopen("/dev/null", "w", stderr) == NULL)
                _exit(CANNOT_PREPARE);
        if (c->level >= SANDBOX_LEVEL_USERNS && enter_namespaces(&spec.n_uids) < 0)
                _exit(CANNOT_PREPARE);
        if (c->memory_fd > 0) {
                spec.mounts = &mount;
                spec.n_mounts = 1;
                if (dup2(c->memory_fd, INVOKER_FD_MOUNTS) < 0)
                        _exit(CANNOT_PREPARE);
        }
        if (sandbox_new(&spec, &sandbox, &missing) < 0 || sandbox_leave_host() < 0)
                _exit(CANNOT_PREPARE);

        if (c->shares && (apart_fd = fill_table()) < 0)
                _exit(CANNOT_PREPARE);
        list_open(before);
        pid = clone_child(sandbox_clone_flags(sandbox) | (c->shares ? CLONE_FILES : 0));
        if (pid < 0)
                _exit(CANNOT_PREPARE);
        if (pid == 0)
                play_actor(c, sandbox, apart_fd);

        if (waitpid(pid, &status, 0) != pid)
                _exit(CANNOT_PREPARE);
        if (c->shares && !table_is_as_before(before, apart_fd))
                _exit(TABLE_CHANGED);
        if (WIFSIGNALED(status)) {
                /* This process ends by the same signal as the actor, so that the test sees the signal. */
                (void) signal(WTERMSIG(status), SIG_DFL);
                (void) raise(WTERMSIG(status));
        }
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : CANNOT_PREPARE);
}

int enter_and_act(const Case *c) {
        pid_t pid = fork();
        int status;

        g_assert_cmpint(pid, >=, 0);
        if (pid == 0)
                play_invoker(c);
        g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
        if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT_PREPARE)
                return -1;
        return status;
}
