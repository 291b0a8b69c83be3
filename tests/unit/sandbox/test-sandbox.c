/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A sandbox forbids all that it should: each forbidden thing is tried by a child that has entered, at each
 * level that this machine can give. The child's exit status is 0 if the thing failed, 1 if it worked. */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/fd.h"
#include "sandbox/step.h"
#include "tests/unit/sandbox-fixture.h"

static int act_nothing(void) {
        return REFUSED;
}

static int act_open(void) {
        return open("/etc/passwd", O_RDONLY) >= 0 ? WORKED : REFUSED;
}

static int act_create(void) {
        return open("/made-by-an-actor", O_WRONLY | O_CREAT, 0600) >= 0 ? WORKED : REFUSED;
}

static int act_proc(void) {
        return open("/proc/self/status", O_RDONLY) >= 0 ? WORKED : REFUSED;
}

/* Landlock does not forbid calls that only look up a name. The system call filter forbids them to actors
 * without libraries, at every level. */
static int act_stat(void) {
        struct stat st;

        return stat("/etc/passwd", &st) >= 0 ? WORKED : REFUSED;
}

static int act_statx(void) {
        char buffer[512];

        return syscall(SYS_statx, AT_FDCWD, "/etc/passwd", 0, 0, buffer) >= 0 ? WORKED : REFUSED;
}

static int act_access(void) {
        return access("/etc/passwd", F_OK) >= 0 ? WORKED : REFUSED;
}

static int act_readlink(void) {
        char target[64];

        return readlink("/proc/self/exe", target, sizeof(target)) >= 0 ? WORKED : REFUSED;
}

static int act_socket(void) {
        return socket(AF_INET, SOCK_STREAM, 0) >= 0 ? WORKED : REFUSED;
}

static int act_socket_local(void) {
        return socket(AF_UNIX, SOCK_STREAM, 0) >= 0 ? WORKED : REFUSED;
}

static int act_fork(void) {
        return fork() >= 0 ? WORKED : REFUSED;
}

static int act_exec(void) {
        char *none[] = { NULL };

        (void) execve("/bin/true", none, none);
        return REFUSED;
}

static int act_ptrace(void) {
        return ptrace(PTRACE_TRACEME, 0, NULL, NULL) >= 0 ? WORKED : REFUSED;
}

static int act_mount(void) {
        return mount("none", "/", "tmpfs", 0, NULL) >= 0 ? WORKED : REFUSED;
}

static int act_unshare(void) {
        return unshare(CLONE_NEWUSER) >= 0 ? WORKED : REFUSED;
}

static int act_kill_parent(void) {
        return kill(getppid(), SIGTERM) >= 0 ? WORKED : REFUSED;
}

static int act_signal_parent(void) {
        pid_t pid = getppid() > 0 ? getppid() : 2;

        return syscall(SYS_tgkill, pid, pid, SIGCONT) >= 0 ? WORKED : REFUSED;
}

static int act_kill_all(void) {
        return kill(-1, 0) >= 0 ? WORKED : REFUSED;
}

static int act_affinity(void) {
        cpu_set_t cpus;

        CPU_ZERO(&cpus);
        CPU_SET(0, &cpus);
        return sched_setaffinity(0, sizeof(cpus), &cpus) >= 0 ? WORKED : REFUSED;
}

static int act_uring(void) {
        char params[256] = { 0 };

        return syscall(SYS_io_uring_setup, 1, params) >= 0 ? WORKED : REFUSED;
}

static int act_code(void) {
        return mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
                                               MAP_FAILED
                               ? WORKED
                               : REFUSED;
}

static int act_code_later(void) {
        void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        return mprotect(p, 4096, PROT_READ | PROT_EXEC) == 0 ? WORKED : REFUSED;
}

static int act_seal(void) {
        return memfd_create("x", 0) >= 0 ? WORKED : REFUSED;
}

static int act_kill_oneself(void) {
        return syscall(SYS_tgkill, getpid(), getpid(), SIGKILL) >= 0 ? WORKED : REFUSED;
}

static int act_flags(void) {
        return fcntl(STDERR_FILENO, F_SETFL, O_NONBLOCK) >= 0 ? WORKED : REFUSED;
}

static int act_listen(void) {
        char c;

        return syscall(SYS_read, STDERR_FILENO, &c, 1) >= 0 || errno != EPERM ? WORKED : REFUSED;
}

/* Adds 2^32 to the descriptor's number. The kernel ignores the upper half, so the filter must ignore it,
 * too. */
static int act_listen_by_another_number(void) {
        char c;

        return syscall(SYS_read, (1L << 32) + STDERR_FILENO, &c, 1) >= 0 || errno != EPERM ? WORKED
                                                                                           : REFUSED;
}

static int act_duplicate(void) {
        return fcntl(STDERR_FILENO, F_DUPFD, 5) >= 0 ? WORKED : REFUSED;
}

static int act_notify(void) {
        return fcntl(STDERR_FILENO, F_SETSIG, SIGKILL) >= 0 && fcntl(STDERR_FILENO, F_SETOWN, 2) >= 0
                               ? WORKED
                               : REFUSED;
}

/* Calls for which the filter must end the process, at every level but none. */
static const struct {
        const char *name;
        int (*act)(void);
        bool looks; /* the call looks up a file's name, so actors with libraries may make it */
} forbidden[] = {
        { "open", act_open },
        { "create", act_create },
        { "proc", act_proc },
        { "stat", act_stat, true },
        { "statx", act_statx, true },
        { "access", act_access, true },
        { "readlink", act_readlink, true },
        { "socket", act_socket },
        { "socket-local", act_socket_local },
        { "fork", act_fork },
        { "exec", act_exec },
        { "ptrace", act_ptrace },
        { "mount", act_mount },
        { "unshare", act_unshare },
        { "kill-parent", act_kill_parent },
        { "kill-all", act_kill_all },
        { "affinity", act_affinity },
        { "io_uring", act_uring },
        { "code", act_code },
        { "code-later", act_code_later },
        { "memfd", act_seal },
        { "signal-parent", act_signal_parent },
        { "kill-oneself", act_kill_oneself },
};

/* Calls for which the filter must end the process of a plugin, too, although plugins may open files. */
static const struct {
        const char *name;
        int (*act)(void);
} forbidden_to_plugins[] = {
        { "create", act_create },
        { "socket-local", act_socket_local },
        { "signal-parent", act_signal_parent },
        { "kill-oneself", act_kill_oneself },
        { "flags", act_flags },
        { "notify", act_notify },
        { "listen", act_listen },
        { "listen-by-another-number", act_listen_by_another_number },
        { "duplicate", act_duplicate },
};

static const uint32_t levels[] = { SANDBOX_LEVEL_PROCESS, SANDBOX_LEVEL_FULL };

/* Sanitizers need system calls that no list allows. So a build with sanitizers has no filter, and says so in
 * limits_not_enforced. */
static bool skip_without_filter(void) {
#ifdef ACTORD_SANITIZE
        g_test_skip("a build with sanitizers has no filter");
        return true;
#else
        return false;
#endif
}

static void test_forbidden(gconstpointer data) {
        const Case base = { .level = GPOINTER_TO_UINT(data), .keep_fd = -1, .cgroup_fd = -1 };

        if (skip_without_filter())
                return;
        for (size_t i = 0; i < G_N_ELEMENTS(forbidden); i++) {
                Case c = base;
                int status;

                c.act = forbidden[i].act;
                status = enter_and_act(&c);
                if (status == -1) {
                        g_test_skip("this machine gives no user namespaces here");
                        return;
                }
                if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
                        g_error("%s at level %u: wait status %#x instead of SIGSYS", forbidden[i].name,
                                        c.level, status);
        }
}

/* The system call filter for actors with libraries allows open(). The other limits of the sandbox leave only
 * the host's libraries to be opened. */
static int act_library_files(void) {
        static const char *const closed[] = { "/etc/passwd", "/proc/self/status", "/sys", "/root", "/home",
                "/tmp/x" };
        char c;
        int fd;

        for (size_t i = 0; i < G_N_ELEMENTS(closed); i++)
                if (open(closed[i], O_RDONLY) >= 0)
                        return WORKED;

        fd = open("/etc/ld.so.cache", O_RDONLY);
        if (fd < 0)
                return errno != ENOENT ? WORKED : REFUSED;
        /* A file under any descriptor number from this one to 39 can be read. */
        for (; fd >= 0 && fd < 40; fd = open("/etc/ld.so.cache", O_RDONLY))
                if (read(fd, &c, 1) != 1 || pread(fd, &c, 1, 1) != 1)
                        return WORKED;
        return REFUSED;
}

/* Asks the kernel for Landlock's version, as sandbox/ruleset.c does. If this test runs in a container, the
 * container's system call filter may forbid Landlock. Then a job says that Landlock is not enforced. */
static bool landlock_is_there(void) {
        enum { RULESET_VERSION = 1 << 0 };

        return syscall(SYS_landlock_create_ruleset, NULL, 0, RULESET_VERSION) > 0;
}

static void test_library_files(gconstpointer data) {
        const Case c = { .level = GPOINTER_TO_UINT(data),
                .libraries = true,
                .act = act_library_files,
                .keep_fd = -1,
                .cgroup_fd = -1 };
        int status;

        if (c.level == SANDBOX_LEVEL_PROCESS && !landlock_is_there()) {
                g_test_skip("Landlock cannot be used here, and at this level nothing else closes files");
                return;
        }
        status = enter_and_act(&c);
        if (status == -1) {
                g_test_skip("this machine gives no user namespaces here");
                return;
        }
        g_assert_cmpint(status, ==, REFUSED << 8);
}

static void test_library_forbidden(gconstpointer data) {
        Case c = { .level = GPOINTER_TO_UINT(data), .libraries = true, .keep_fd = -1, .cgroup_fd = -1 };

        if (skip_without_filter())
                return;
        for (size_t i = 0; i < G_N_ELEMENTS(forbidden_to_plugins); i++) {
                int status;

                c.act = forbidden_to_plugins[i].act;
                status = enter_and_act(&c);
                if (status == -1) {
                        g_test_skip("this machine gives no user namespaces here");
                        return;
                }
                if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
                        g_error("%s at level %u: wait status %#x instead of SIGSYS",
                                        forbidden_to_plugins[i].name, c.level, status);
        }
}

/* Expects that the act is refused. 0; -1: this machine does not let the test make user namespaces. */
static int expect_refused(Case *c, int (*act)(void), const char *name) {
        int status;

        c->act = act;
        status = enter_and_act(c);
        if (status != -1 && status != REFUSED << 8)
                g_error("%s at level %u: wait status %#x instead of an error", name, c->level, status);
        return status == -1 ? -1 : 0;
}

/* Whether this act, which opens a file, works for an interpreter: its system call filter must allow such
 * calls, and the kernel has no Landlock to forbid them. */
static bool is_left_open(const Case *c, const char *name) {
        static const char *const files[] = { "open", "create", "proc", NULL };

        return c->level == SANDBOX_LEVEL_PROCESS && !landlock_is_there() && g_strv_contains(files, name);
}

/* In a sandbox for an interpreter the forbidden calls fail with an error, and do not end the process. */
static void test_interpreter_forbidden(gconstpointer data) {
        Case c = { .level = GPOINTER_TO_UINT(data),
                .libraries = true,
                .interpreter = true,
                .keep_fd = -1,
                .cgroup_fd = -1 };
        int r = 0;

        if (skip_without_filter())
                return;
        for (size_t i = 0; i < G_N_ELEMENTS(forbidden) && r == 0; i++)
                if (!forbidden[i].looks && !is_left_open(&c, forbidden[i].name))
                        r = expect_refused(&c, forbidden[i].act, forbidden[i].name);
        for (size_t i = 0; i < G_N_ELEMENTS(forbidden_to_plugins) && r == 0; i++)
                if (!is_left_open(&c, forbidden_to_plugins[i].name))
                        r = expect_refused(&c, forbidden_to_plugins[i].act, forbidden_to_plugins[i].name);
        if (r < 0)
                g_test_skip("this machine gives no user namespaces here");
}

static int kept_fd = -1;

/* Rings the bell, the one descriptor that the sandbox has kept. Writing to any other number fails. It closes
 * the bell, which must stay open in the parent. */
static int act_bell(void) {
        uint64_t one = 1;

        if (write(kept_fd, &one, sizeof(one)) != sizeof(one))
                return WORKED;
        for (int fd = 3; fd < 1024; fd++)
                if (fd != kept_fd && write(fd, &one, sizeof(one)) >= 0)
                        return WORKED;
        return close(kept_fd) < 0 ? WORKED : REFUSED;
}

static void ring_bell(uint32_t level, bool shares) {
        _cleanup_close_ int bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), other = eventfd(0, EFD_CLOEXEC);
        Case c = { .level = level, .act = act_bell, .keep_fd = bell, .cgroup_fd = -1, .shares = shares };
        uint64_t rings;
        int status;

        g_assert_cmpint(other, >=, 0);
        kept_fd = bell;
        status = enter_and_act(&c);
        if (status == -1) {
                g_test_skip("this machine gives no user namespaces here");
                return;
        }
        g_assert_cmpint(status, ==, REFUSED << 8);
        g_assert_cmpint(read(bell, &rings, sizeof(rings)), ==, sizeof(rings));
        g_assert_cmpuint(rings, ==, 1);
}

static void test_bell(gconstpointer data) {
        ring_bell(GPOINTER_TO_UINT(data), false);
}

/* The child begins with the parent's own table of descriptors, and leaves it as it is. */
static void test_bell_of_shared_table(gconstpointer data) {
        ring_bell(GPOINTER_TO_UINT(data), true);
}

static int act_identity(void) {
        return getuid() == TEST_UID && geteuid() == TEST_UID && getgid() == TEST_UID && getpid() == 1
                               ? REFUSED
                               : WORKED;
}

static void test_identity(void) {
        const Case c = { .level = SANDBOX_LEVEL_FULL,
                .libraries = true,
                .act = act_identity,
                .keep_fd = -1,
                .cgroup_fd = -1 };
        int status;

        if (getuid() != 0) {
                g_test_skip("only root maps a range of users");
                return;
        }
        status = enter_and_act(&c);
        if (status == -1) {
                g_test_skip("this machine gives no user namespaces here");
                return;
        }
        g_assert_cmpint(status, ==, REFUSED << 8);
}

#define MEMORY_TEXT "content of a plugin"

/* The sandbox was given a sealed memfd. The actor finds it at MEMORY_AT or, in a sandbox without a root of
 * its own, as descriptor 16, and may read and execute it. */
static int act_memory(void) {
        char text[sizeof(MEMORY_TEXT)] = "";
        int fd = open(MEMORY_AT, O_RDONLY);
        void *code;

        if (fd < 0)
                fd = open("/proc/self/fd/16", O_RDONLY);
        if (fd < 0 || read(fd, text, sizeof(text)) != sizeof(text) || strcmp(text, MEMORY_TEXT) != 0)
                return 2;
        code = mmap(NULL, sizeof(text), PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
        return code == MAP_FAILED ? 3 : REFUSED;
}

static void test_memory(gconstpointer data) {
        static_assert(INVOKER_FD_MOUNTS == 16, "path above");
        Case c = { .level = GPOINTER_TO_UINT(data),
                .libraries = true,
                .act = act_nothing,
                .keep_fd = -1,
                .cgroup_fd = -1 };

        if (enter_and_act(&c) == -1) {
                g_test_skip("this machine gives no user namespaces here");
                return;
        }
        c.memory_fd = memfd_make_sealed("plugin", MEMORY_TEXT, sizeof(MEMORY_TEXT));
        c.act = act_memory;
        c.keep_fd = c.level < SANDBOX_LEVEL_USERNS ? INVOKER_FD_MOUNTS : -1;
        g_assert_cmpint(enter_and_act(&c), ==, REFUSED << 8);
        (void) close(c.memory_fd);
}

static void on_abort(int signal) {
        _exit(EXIT_ABORTED);
}

static int act_abort(void) {
        (void) signal(SIGABRT, on_abort);
        abort();
}

static void test_abort(gconstpointer data) {
        const Case c = { .level = GPOINTER_TO_UINT(data), .act = act_abort, .keep_fd = -1, .cgroup_fd = -1 };
        int status = enter_and_act(&c);

        if (status == -1) {
                g_test_skip("this machine gives no user namespaces here");
                return;
        }
        g_assert_cmpint(status, ==, EXIT_ABORTED << 8);
}

/* A sandbox with a step that cannot be done ends with the exit status of this step, and does not act. */
static void test_step_status(void) {
        _cleanup_close_ int not_a_cgroup = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        const Case cgroup = {
                .level = SANDBOX_LEVEL_PROCESS, .act = act_nothing, .keep_fd = -1, .cgroup_fd = not_a_cgroup
        };
        const Case keep = { .level = SANDBOX_LEVEL_PROCESS,
                .act = act_nothing,
                .keep_fd = -1,
                .cgroup_fd = -1,
                .bad_keep = true };

        g_assert_cmpint(enter_and_act(&cgroup), ==, 200 << 8);
        g_assert_cmpint(enter_and_act(&keep), ==, 201 << 8);
}

/* libseccomp accepts each list of system calls, and makes a filter of it. */
static void test_filters(void) {
        for (int libraries = 0; libraries < 2; libraries++)
                for (int kind = SANDBOX_ACTOR; kind <= SANDBOX_LEARNER; kind++) {
                        struct sock_fprog filter = {};

                        g_assert_cmpint(sandbox_filter_compile(kind, libraries, false, &filter), ==, 0);
                        g_assert_cmpint(filter.len, >, 20);
                        free(filter.filter);
                }
}

int main(int argc, char **argv) {
        static const char *const names[] = {
                [SANDBOX_LEVEL_PROCESS] = "process",
                [SANDBOX_LEVEL_FULL] = "full",
        };

#ifdef __SANITIZE_THREAD__
        /* ThreadSanitizer starts a thread of its own, and our sandboxes refuse a process that had several
         * threads when it forked. */
        printf("1..0 # SKIP processes that fork without exec are not for ThreadSanitizer\n");
        return 0;
#endif
        g_test_init(&argc, &argv, NULL);
        case_settings.memory_max_bytes = case_settings.learner_memory_max_bytes = 1ull << 30;
        case_settings.n_actors = case_settings.n_threads = 1;

        for (size_t i = 0; i < G_N_ELEMENTS(levels); i++) {
                gpointer level = GUINT_TO_POINTER(levels[i]);
                char path[64];

                (void) snprintf(path, sizeof(path), "/sandbox/%s/forbidden", names[levels[i]]);
                g_test_add_data_func(path, level, test_forbidden);
                (void) snprintf(path, sizeof(path), "/sandbox/%s/library-files", names[levels[i]]);
                g_test_add_data_func(path, level, test_library_files);
                (void) snprintf(path, sizeof(path), "/sandbox/%s/library-forbidden", names[levels[i]]);
                g_test_add_data_func(path, level, test_library_forbidden);
                (void) snprintf(path, sizeof(path), "/sandbox/%s/interpreter-forbidden", names[levels[i]]);
                g_test_add_data_func(path, level, test_interpreter_forbidden);
                (void) snprintf(path, sizeof(path), "/sandbox/%s/abort", names[levels[i]]);
                g_test_add_data_func(path, level, test_abort);
                (void) snprintf(path, sizeof(path), "/sandbox/%s/bell", names[levels[i]]);
                g_test_add_data_func(path, level, test_bell);
                (void) snprintf(path, sizeof(path), "/sandbox/%s/bell-of-shared-table", names[levels[i]]);
                g_test_add_data_func(path, level, test_bell_of_shared_table);
                (void) snprintf(path, sizeof(path), "/sandbox/%s/memory", names[levels[i]]);
                g_test_add_data_func(path, level, test_memory);
        }
        g_test_add_func("/sandbox/full/identity", test_identity);
        g_test_add_func("/sandbox/step-status", test_step_status);
        g_test_add_func("/sandbox/filters", test_filters);
        return g_test_run();
}
