/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The child, between clone and exec. It takes its identity, receives from the parent the facts of the
 * launch, gives every descriptor its number of include/launch.h, and becomes the invoker. It inherits
 * nothing else from the spawner: no other descriptors, no environment (but sanitizers' options), no signal
 * settings (but SIGXFSZ stays ignored). */
#include "spawner/spawner.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <syslog.h>
#include <systemd/sd-journal.h>
#include <unistd.h>
#include "lib/cleanup.h"
#include "lib/message.h"
#include "lib/fd.h"

enum { FD_FLOOR = 64 }; /* descriptors first move to this number or higher, beyond those of InvokerFd */

#define STACK_BYTES (8u << 20)
static_assert(INVOKER_FD_MOUNTS + LAUNCH_MOUNTS_MAX <= FD_FLOOR,
                "fixed descriptors must not meet moved ones");

/* The parent's message to the child. Its descriptors: the cgroup, the slice, the detached mounts */
typedef struct Go {
        uint32_t cgroup, has_slice, n_mounts;
        char unit[128];
} Go;

int handover_go(const Child *child, const Cgroup *cgroup, const int mounts[], size_t n_mounts) {
        Go go = { .cgroup = cgroup->metering,
                .has_slice = cgroup->slice_fd >= 0,
                .n_mounts = (uint32_t) n_mounts };
        int fds[2 + LAUNCH_MOUNTS_MAX];
        size_t n = 0;

        memcpy(go.unit, cgroup->unit, sizeof(go.unit));
        if (cgroup->metering != INVOKER_CGROUP_NONE)
                fds[n++] = cgroup->fd;
        if (go.has_slice)
                fds[n++] = cgroup->slice_fd;
        for (size_t i = 0; i < n_mounts; i++)
                fds[n++] = mounts[i];
        return message_send(child->channel, &go, sizeof(go), fds, n);
}

_Noreturn static void fail(int channel, LaunchStep step, int error, const char *what) {
        LaunchAnswer answer = { .abi = LAUNCH_ABI };

        (void) answer_fail(&answer, step, error, "%s: %s", what, strerror(-error));
        (void) message_send(channel, &answer, sizeof(answer), NULL, 0);
        _exit(EXIT_FAILURE);
}

static int invoked_make(const Request *request, const Programs *programs, const Child *child, const Go *go) {
        Invoked invoked = {
                .launch = request->launch,
                .level = child->level,
                .cgroup = go->cgroup,
        };

        if (child->level < SANDBOX_LEVEL_FULL)
                invoked.launch.n_uids = 1;
        if (!go->has_slice)
                invoked.launch.scope_each = 0;
        (void) snprintf(invoked.scope_prefix, sizeof(invoked.scope_prefix), "%.*s",
                        (int) strcspn(go->unit, "."), go->unit);
        /* The job's user may not be able to reach a build tree in a home directory of mode 0700. Then the
         * invoker gets the path of the directory's descriptor. */
        if (access(programs->directory, X_OK) >= 0)
                (void) snprintf(invoked.directory, sizeof(invoked.directory), "%s", programs->directory);
        else
                (void) snprintf(invoked.directory, sizeof(invoked.directory), "/proc/self/fd/%d",
                                INVOKER_FD_DIRECTORY);
        return memfd_make_sealed("invoked", &invoked, sizeof(invoked));
}

static int place_all(const Request *request, const Programs *programs, const Child *child, const Go *go,
                const int received[], int *invoker_fd) {
        static const int fixed[] = { INVOKER_FD_SETTINGS, INVOKER_FD_STDERR, INVOKER_FD_STATE,
                INVOKER_FD_SOCKET, INVOKER_FD_CHECKPOINT };
        int from[LAUNCH_FDS_MAX + 8], to[LAUNCH_FDS_MAX + 8];
        size_t n = 0, n_received = 0;
        int null;

        from[n] = invoked_make(request, programs, child, go);
        if (from[n] < 0)
                return from[n];
        to[n++] = INVOKER_FD_INVOKED;
        for (size_t i = 0; i < ELEMENTSOF(fixed); i++) {
                from[n] = request->fds[i];
                to[n++] = fixed[i];
        }
        from[n] = programs->learner_fd;
        to[n++] = INVOKER_FD_LEARNER;
        from[n] = programs->directory_fd;
        to[n++] = INVOKER_FD_DIRECTORY;
        if (go->cgroup != INVOKER_CGROUP_NONE) {
                from[n] = received[n_received++];
                to[n++] = INVOKER_FD_CGROUP;
        }
        if (go->has_slice) {
                from[n] = received[n_received++];
                to[n++] = INVOKER_FD_SLICE;
        }
        if (request->cluster_fd >= 0) {
                from[n] = request->cluster_fd;
                to[n++] = INVOKER_FD_CLUSTER;
        }
        for (uint32_t i = 0; i < request->launch.n_mounts; i++) {
                from[n] = go->n_mounts > 0 ? received[n_received + i] : request->fds[_LAUNCH_FD_FIXED + i];
                to[n++] = INVOKER_FD_MOUNTS + (int) i;
        }
        /* The invoker's standard output and standard error are both the stream for the job's messages. */
        from[n] = request->fds[LAUNCH_FD_STDERR];
        to[n++] = STDOUT_FILENO;
        from[n] = request->fds[LAUNCH_FD_STDERR];
        to[n++] = STDERR_FILENO;

        for (size_t i = 0; i < n; i++) {
                from[i] = fd_lift(from[i], FD_FLOOR);
                if (from[i] < 0)
                        return from[i];
        }
        *invoker_fd = fd_lift(programs->invoker_fd, FD_FLOOR);
        if (*invoker_fd < 0)
                return *invoker_fd;

        /* Nothing else is inherited, even if a close-on-exec flag was forgotten above. dup2() below clears
         * the flag for the invoker's own descriptors. */
        if (close_range(STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC) < 0)
                return -errno;
        for (size_t i = 0; i < n; i++)
                if (dup2(from[i], to[i]) < 0)
                        return -errno;
        null = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (null < 0 || dup2(null, STDIN_FILENO) < 0)
                return -errno;
        return 0;
}

/* From the caller's environment variables, only the sanitizers' options of a debugging build are kept. */
static char **environment_make(void) {
        static const char *const kept[] = { "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS",
                "LSAN_OPTIONS" };
        static char *environment[ELEMENTSOF(kept) + 2] = { (char *) "PATH=/usr/bin:/bin" };
        size_t n = 1;

        for (size_t i = 0; i < ELEMENTSOF(kept); i++) {
                const char *value = getenv(kept[i]);

                if (value && asprintf(&environment[n], "%s=%s", kept[i], value) >= 0)
                        n++;
        }
        return environment;
}

/* Limits an unlimited stack. With such a stack the kernel uses low addresses first, but the sandbox's rules
 * need high addresses (SANDBOX_OWN_ADDRESSES). */
static void limit_stack(void) {
        struct rlimit stack;

        if (getrlimit(RLIMIT_STACK, &stack) < 0 || stack.rlim_cur != RLIM_INFINITY)
                return;
        stack.rlim_cur = STACK_BYTES;
        (void) setrlimit(RLIMIT_STACK, &stack);
}

static void reset_signals(void) {
        sigset_t none;

        for (int i = 1; i < NSIG; i++)
                if (i != SIGKILL && i != SIGSTOP && i != SIGXFSZ)
                        (void) signal(i, SIG_DFL);
        (void) sigemptyset(&none);
        (void) sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Clones the mounts if the parent lacked the privilege to do so. The child has that privilege in its own
 * namespaces. */
static int clone_mounts(const Request *request, const Child *child, Go *go, int received[], size_t *n) {
        const Launch *launch = &request->launch;

        if (child->level < SANDBOX_LEVEL_USERNS || go->n_mounts > 0)
                return 0;
        for (uint32_t i = 0; i < launch->n_mounts; i++) {
                int r = mount_clone(request->fds[_LAUNCH_FD_FIXED + i], geteuid(),
                                launch->mounts[i].read_only, &received[*n]);

                if (r < 0)
                        return r;
                (*n)++;
        }
        go->n_mounts = launch->n_mounts;
        return 0;
}

/* Opens a stream to the journal for the job's messages, inside the job's scope. The journal limits messages
 * by the unit that connects, so the limit applies to a job with much output, and not to the daemon. */
static void open_journal(Request *request) {
        char identifier[64];
        int fd;

        (void) snprintf(identifier, sizeof(identifier), "actord-actor-job-%" PRIu64, request->launch.job);
        fd = sd_journal_stream_fd(identifier, LOG_INFO, false);
        if (fd < 0)
                return;
        (void) close_fd(request->fds[LAUNCH_FD_STDERR]);
        request->fds[LAUNCH_FD_STDERR] = fd;
}

/* Starts anchors: idle processes that hold the scopes of actors open. The parent asks for them once the
 * job's scope exists, so that they start in this scope and the parent finds them there. */
static void make_anchors(int channel, uint32_t n_anchors) {
        LaunchAnswer ready = { .abi = LAUNCH_ABI };
        char word[8];
        size_t n, n_fds;
        int r;

        r = message_receive(channel, LAUNCH_ANSWER_MSEC(0), word, sizeof(word), &n, NULL, 0, &n_fds);
        if (r < 0)
                fail(channel, LAUNCH_STEP_MESSAGE, r, "the job's child process got no order");
        r = anchors_start(n_anchors);
        if (r < 0)
                fail(channel, LAUNCH_STEP_SCOPE, r, "no process for an actor's scope can be made");
        if (message_send(channel, &ready, sizeof(ready), NULL, 0) < 0)
                _exit(EXIT_FAILURE);
}

_Noreturn void handover_run(const Request *from_parent, const Programs *programs, const Child *child) {
        char *argv[] = { (char *) "actord-invoker", NULL };
        int received[2 + LAUNCH_MOUNTS_MAX], channel, invoker_fd = -EBADF, r;
        Request ours = *from_parent, *request = &ours;
        size_t n, n_fds;
        LaunchAnswer ready = { .abi = LAUNCH_ABI };
        char **environment;
        Go go = {};

        /* The parent's message says that the user ids are mapped. */
        r = message_receive(child->channel, LAUNCH_STEP_MSEC, &go, sizeof(go), &n, received, 0, &n_fds);
        if (r < 0)
                _exit(EXIT_FAILURE);
        r = child_identify(child);
        if (r < 0)
                fail(child->channel, LAUNCH_STEP_IDENTITY, r, "the job cannot switch to its user id");
        if (message_send(child->channel, &ready, sizeof(ready), NULL, 0) < 0)
                _exit(EXIT_FAILURE);
        if (request->launch.manager != LAUNCH_MANAGER_NONE && request->launch.scope_each > 0)
                make_anchors(child->channel, request->launch.scope_each);

        r = message_receive(child->channel, (int) LAUNCH_ANSWER_MSEC(request->launch.scope_each), &go,
                        sizeof(go), &n, received, ELEMENTSOF(received), &n_fds);
        if (r < 0)
                fail(child->channel, LAUNCH_STEP_MESSAGE, r, "the job's child process got no order");
        if (n != sizeof(go))
                _exit(EXIT_FAILURE);
        channel = fd_lift(child->channel, FD_FLOOR);
        if (channel < 0)
                fail(child->channel, LAUNCH_STEP_EXEC, channel,
                                "the job's descriptors cannot be handed over");
        r = clone_mounts(request, child, &go, received, &n_fds);
        if (r < 0)
                fail(channel, LAUNCH_STEP_MOUNTS, r, "a file of the job cannot be mounted");
        if (request->launch.journal)
                open_journal(request);
        r = place_all(request, programs, child, &go, received, &invoker_fd);
        if (r < 0)
                fail(channel, LAUNCH_STEP_EXEC, r, "the job's descriptors cannot be handed over");

        environment = environment_make();
        (void) umask(0022);
        if (chdir("/") < 0)
                fail(channel, LAUNCH_STEP_EXEC, -errno, "the root directory cannot be entered");
        (void) setsid();
        limit_stack();
        reset_signals();
        (void) execveat(invoker_fd, "", argv, environment, AT_EMPTY_PATH);
        fail(channel, LAUNCH_STEP_EXEC, -errno, "actord-invoker cannot be started");
}
