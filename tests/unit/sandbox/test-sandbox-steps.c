/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests single steps of the sandbox. In a whole sandbox, other steps would refuse first what these steps
 * refuse. */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "include/sandbox.h"
#include "include/settings.h"
#include "sandbox/sandbox.h"
#include "sandbox/step.h"

enum { FD_FLOOR = 700 };

static JobSettings settings;

/* The exit status of a process that enters the sandbox. Each step that fails has its own status. Since real
 * sandboxes seldom fail, the tests damage a Sandbox by hand. */
static int status_of(const Sandbox *sandbox) {
        const SandboxEntry entry = { .apart_fd = -EBADF, .cgroup_fd = -EBADF, .name = "actord-actor" };
        pid_t pid = fork();
        int status;

        if (pid == 0) {
                (void) !freopen("/dev/null", "w", stderr);
                sandbox_enter(sandbox, &entry);
                _exit(0);
        }
        g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
        g_assert_true(WIFEXITED(status));
        return WEXITSTATUS(status);
}

static void test_step_status_by_hand(void) {
        struct sock_filter nonsense = { .code = 0xffff };
        Sandbox none = { .level = SANDBOX_LEVEL_PROCESS,
                .ruleset_fd = -EBADF,
                .parent = getpid(),
                .memory_limited = true };
        Sandbox namespaces = none, root = none, parent = none, landlock = none, affinity = none,
                filter = none;

        g_assert_cmpint(status_of(&none), ==, 0);
        namespaces.level = SANDBOX_LEVEL_USERNS;
        g_assert_cmpint(status_of(&namespaces), ==, 202);
        (void) strcpy(root.root, "/no/such/root");
        g_assert_cmpint(status_of(&root), ==, 203);
        parent.parent = getpid() + 1;
        g_assert_cmpint(status_of(&parent), ==, 206);
        landlock.ruleset_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, FD_FLOOR);
        g_assert_cmpint(status_of(&landlock), ==, 207);
        affinity.has_cpus = true;
        g_assert_cmpint(status_of(&affinity), ==, 208);
        filter.filter = (struct sock_fprog){ .len = 1, .filter = &nonsense };
        g_assert_cmpint(status_of(&filter), ==, 209);
}

static int errno_of_open(const char *path, int flags) {
        int fd = open(path, flags | O_CLOEXEC, 0600);

        return fd < 0 ? errno : 0;
}

/* Tries what Landlock forbids and allows. 0, or the number of the first attempt with another outcome. */
static int look_around(bool libraries) {
        char *none[] = { NULL };

        if (errno_of_open("/etc/passwd", O_RDONLY) != EACCES)
                return 1;
        if (errno_of_open("/", O_RDONLY | O_DIRECTORY) != EACCES)
                return 2;
        if (errno_of_open("/tmp", O_WRONLY | O_TMPFILE) != EACCES)
                return 3;
        if (errno_of_open("/usr/lib", O_RDONLY | O_DIRECTORY) != (libraries ? 0 : EACCES))
                return 4;
        if (errno_of_open("/dev/null", O_RDWR) != (libraries ? 0 : EACCES))
                return 5;
        if (execve("/bin/true", none, none) == 0 || errno != EACCES)
                return 6;
        return 0;
}

/* Tests Landlock without the system call filter, which would end the process before Landlock refuses
 * anything. */
static void test_landlock(void) {
        for (int libraries = 0; libraries < 2; libraries++) {
                SandboxSpec spec = { .kind = SANDBOX_ACTOR,
                        .level = SANDBOX_LEVEL_PROCESS,
                        .n_uids = 1,
                        .settings = &settings,
                        .libraries = libraries,
                        .memory_max_bytes = settings.memory_max_bytes,
                        .fd_floor = FD_FLOOR,
                        .executable_fd = -EBADF,
                        .state_fd = -EBADF };
                const SandboxEntry entry = {
                        .apart_fd = -EBADF, .cgroup_fd = -EBADF, .name = "actord-actor"
                };
                Sandbox *sandbox = NULL;
                uint32_t missing;
                int status;
                pid_t pid;

                g_assert_cmpint(sandbox_new(&spec, &sandbox, &missing), ==, 0);
                if (missing & 1u << LIMIT_LANDLOCK) {
                        g_test_skip("no Landlock in this kernel");
                        (void) sandbox_free(sandbox);
                        return;
                }
                g_clear_pointer(&sandbox->filter.filter, free);
                sandbox->filter.len = 0;
                pid = fork();
                if (pid == 0) {
                        sandbox_enter(sandbox, &entry);
                        _exit(look_around(libraries));
                }
                g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
                g_assert_cmpint(status, ==, 0);
                (void) sandbox_free(sandbox);
        }
}

int main(int argc, char **argv) {
#ifdef __SANITIZE_THREAD__
        /* ThreadSanitizer runs a thread of its own. So every process that forks has several threads, and our
         * sandboxes refuse such a fork. */
        printf("1..0 # SKIP processes that fork without exec are not for ThreadSanitizer\n");
        return 0;
#endif
        g_test_init(&argc, &argv, NULL);
        settings.memory_max_bytes = settings.learner_memory_max_bytes = 1ull << 30;
        settings.n_actors = settings.n_threads = 1;

        g_test_add_func("/sandbox-steps/status", test_step_status_by_hand);
        g_test_add_func("/sandbox-steps/landlock", test_landlock);
        return g_test_run();
}
