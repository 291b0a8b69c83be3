/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Starts actord-cluster beside an invoker that may have nodes of a cluster. actord-cluster stays outside of
 * the job's namespaces: it uses the network, and talks as the user to programs that know the user. So it
 * gets only stderr and the descriptors of ClusterFd: no file of the job but a plugin. It keeps the user's
 * environment variables, which say where the cluster is. It also stays in the cgroup of the user's daemon:
 * in the job's scope, the end of the scope would kill it before it could give back its nodes. */
#include "spawner/spawner.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "include/cluster.h"
#include "lib/cleanup.h"
#include "lib/fd.h"

enum { FD_FLOOR = 64 }; /* descriptors first move to this number or higher, beyond those of ClusterFd */

/* Finds the mount with the plugin, which nodes need for their actors; UINT32_MAX: there is none. */
static uint32_t find_plugin(const Launch *job) {
        for (uint32_t i = 0; i < job->n_mounts; i++)
                if (launch_mount_is_plugin(&job->mounts[i]))
                        return i;
        return UINT32_MAX;
}

/* Makes the part of a node's launch that does not depend on the node. */
static int seal_launch(const Launch *job, uint32_t plugin) {
        Launch launch = {
                .abi = LAUNCH_ABI,
                .struct_bytes = sizeof(Launch),
                .job = job->job,
                .life = job->life,
                .purpose = LAUNCH_NODE,
                .manager = LAUNCH_MANAGER_NONE,
                .sandbox = job->sandbox,
                .exit_with_daemon = 1,
        };

        if (plugin < job->n_mounts)
                launch.mounts[launch.n_mounts++] = job->mounts[plugin];
        return memfd_make_sealed("actord-launch", &launch, sizeof(launch));
}

static void signals_reset(void) {
        sigset_t none;

        for (int i = 1; i < NSIG; i++)
                if (i != SIGKILL && i != SIGSTOP)
                        (void) signal(i, SIG_DFL);
        (void) sigemptyset(&none);
        (void) sigprocmask(SIG_SETMASK, &none, NULL);
        (void) alarm(0);
}

_Noreturn static void become_cluster(
                const Request *request, const char *path, int directory_fd, int socket_fd) {
        char *argv[] = { (char *) CLUSTER_PROGRAM, NULL };
        uint32_t plugin = find_plugin(&request->launch);
        int launch_fd = seal_launch(&request->launch, plugin);
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        const int to[] = { CLUSTER_FD_SOCKET, CLUSTER_FD_SETTINGS, CLUSTER_FD_LAUNCH, CLUSTER_FD_DIRECTORY,
                CLUSTER_FD_PLUGIN, STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO };
        int from[] = { socket_fd, request->fds[LAUNCH_FD_SETTINGS], launch_fd, directory_fd,
                plugin < request->launch.n_mounts ? request->fds[_LAUNCH_FD_FIXED + plugin] : null, null,
                request->fds[LAUNCH_FD_STDERR], request->fds[LAUNCH_FD_STDERR] };

        static_assert(ELEMENTSOF(to) == ELEMENTSOF(from), "pairs");

        for (size_t i = 0; i < ELEMENTSOF(from); i++) {
                from[i] = from[i] < 0 ? from[i] : fd_lift(from[i], FD_FLOOR);
                if (from[i] < 0)
                        _exit(EXIT_FAILURE);
        }
        (void) close_range(STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC);
        for (size_t i = 0; i < ELEMENTSOF(from); i++)
                if (dup2(from[i], to[i]) < 0)
                        _exit(EXIT_FAILURE);
        signals_reset();
        (void) setsid();
        (void) execv(path, argv);
        dprintf(STDERR_FILENO, "actord-spawn: %s cannot be started: %s\n", path, strerror(errno));
        _exit(EXIT_FAILURE);
}

int cluster_start(const Request *request, const Programs *programs, int *ret, LaunchAnswer *answer) {
        _cleanup_close_ int ours = -EBADF, theirs = -EBADF;
        char path[sizeof(programs->directory) + sizeof(CLUSTER_PROGRAM) + 1];
        int pair[2];
        pid_t pid;

        (void) snprintf(path, sizeof(path), "%s/" CLUSTER_PROGRAM, programs->directory);
        if (access(path, X_OK) < 0)
                return answer_fail(answer, LAUNCH_STEP_EXEC, -errno,
                                "[Distribution] Cluster= needs %s, which cannot be executed: %s", path,
                                strerror(errno));
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return answer_fail(answer, LAUNCH_STEP_EXEC, -errno, "no socket for " CLUSTER_PROGRAM ": %s",
                                strerror(errno));
        ours = pair[0];
        theirs = pair[1];
        pid = fork();
        if (pid < 0)
                return answer_fail(answer, LAUNCH_STEP_EXEC, -errno,
                                CLUSTER_PROGRAM " cannot be started: %s", strerror(errno));
        if (pid == 0) {
                ours = close_fd(ours);
                become_cluster(request, path, programs->directory_fd, theirs);
        }
        *ret = TAKE_FD(ours);
        return 0;
}
