/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/job-launch.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "daemon/files.h"
#include "daemon/job-distribution.h"
#include "include/bus.h"
#include "include/sandbox.h"
#include "lib/cleanup.h"
#include "lib/environments.h"
#include "lib/fd.h"
#include "lib/settings/settings.h"

void job_socket_name(const Job *job, char ret[32]) {
        (void) snprintf(ret, 32, "%" PRIu64 ".sock", job->row.id);
}

/* Makes the socket on which the invoker will accept connections. The daemon closes its own descriptor after
 * the launch, so that a connection to a dead invoker is refused. */
static int listen_for_us(const Job *job) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        _cleanup_close_ int fd = -EBADF;
        char name[32];
        int n;

        job_socket_name(job, name);
        n = snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s",
                        job->context->sockets_fd, name);
        assert(n > 0 && (size_t) n < sizeof(address.sun_path));

        fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return -errno;
        (void) unlinkat(job->context->sockets_fd, name, 0);
        if (bind(fd, (const struct sockaddr *) &address, sizeof(address)) < 0 || listen(fd, 4) < 0)
                return -errno;
        return TAKE_FD(fd);
}

/* Opens the standard error of the job's processes. In run mode this is the caller's standard error.
 * Otherwise it is the daemon's, which the spawner replaces by a journal stream for this job if there is a
 * journal. */
static int open_stderr(const Job *job) {
        int fd = fcntl(job->stderr_fd >= 0 ? job->stderr_fd : STDERR_FILENO, F_DUPFD_CLOEXEC, 3);

        return fd < 0 ? -errno : fd;
}

static void fill_launch(Job *job, Launch *launch) {
        JobContext *context = job->context;
        bool ranges = context_reserves_ids(context);
        /* Jobs of several daemons may have the same number, so the daemon's process id is added. */
        uint64_t range = job->row.id + (context->mode == DAEMON_SYSTEM ? 0 : (uint64_t) getpid());

        *launch = (Launch){
                .abi = LAUNCH_ABI,
                .struct_bytes = sizeof(Launch),
                .job = job->row.id,
                .life = job->row.life,
                .purpose = job->row.purpose,
                .manager = context->launch_manager,
                .uid_first = ranges ? UID_RANGE_FIRST + (uint32_t) (range % UID_RANGES) * UIDS_MAX
                                    : (uint32_t) getuid(),
                .n_uids = ranges ? UIDS_MAX : 1,
                .sandbox = job->settings.sandbox,
                .scope_each = settings_scopes(&job->settings),
                .exit_with_daemon = context->mode == DAEMON_RUN,
                .journal = context->mode != DAEMON_RUN && context->launch_manager != LAUNCH_MANAGER_NONE,
                .resume_round = job->resume_round,
                .n_episodes = job->row.n_episodes,
                .cluster = job->row.purpose == LAUNCH_TRAIN && settings_has_nodes(&job->settings),
                .owner = job->answer.owner,
                .submitter = job->row.uid,
                .alone_usec = context->config.orphan_timeout_usec,
        };
}

/* Takes fd. */
static void add_mount(LaunchRequest *request, int fd, const char *at) {
        LaunchMount *mount = &request->launch.mounts[request->launch.n_mounts];

        request->fds[_LAUNCH_FD_FIXED + request->launch.n_mounts++] = fd;
        *mount = (LaunchMount){ .read_only = 1 };
        (void) snprintf(mount->at, sizeof(mount->at), "%s", at);
}

/* Adds to the request a file that came with the job. at: where it is mounted; NULL: it is not mounted. */
static int add_file(const Job *job, LaunchRequest *request, const char *key, const char *at) {
        int fd = at ? job_file_open(job->context->jobs_fd, job->row.id, key) : 0;

        if (at && fd >= 0)
                add_mount(request, fd, at);
        return MIN(fd, 0);
}

static int add_plugin(const Job *job, LaunchRequest *request) {
        const char *slash = strrchr(job->settings.environment, '/');
        g_autofree char *at = NULL;

        if (environment_is_file(job->settings.environment))
                at = g_strconcat(PLUGIN_DIRECTORY, slash + 1, NULL);
        return add_file(job, request, BUS_FILE_ENVIRONMENT, at);
}

/* Adds the job's directories to the request. -ENOTRECOVERABLE: a directory is not open any more, and only
 * its submitter can open it again. */
static int add_directories(const Job *job, LaunchRequest *request) {
        if (job_lost_directory(job) != _DIRECTORY_KIND_MAX)
                return -ENOTRECOVERABLE;
        for (DirectoryKind kind = 0; kind < _DIRECTORY_KIND_MAX; kind++) {
                int theirs = job->directories.fds[kind];
                int fd = theirs < 0 ? theirs : fcntl(theirs, F_DUPFD_CLOEXEC, 3);

                if (fd >= 0)
                        add_mount(request, fd, directory_row(kind)->at);
                else if (theirs >= 0)
                        return -errno;
        }
        return 0;
}

/* Returns a descriptor of the job's settings, followed by those of its inner job if it has one; or a
 * negative errno. In these settings, the chosen distribution replaces Policy=auto. */
static int seal_settings(const Job *job) {
        g_autofree JobSettings *both = g_new0(JobSettings, 2);
        g_autofree char *message = NULL;
        int r;

        both[0] = job->settings;
        both[0].distribution = job_distribution(job, &both[0].n_learners, NULL);
        if (!environment_is_job(job->settings.environment))
                return memfd_make_sealed("actord-settings", both, sizeof(JobSettings));

        r = settings_parse_inner(job->row.text, job->row.file_name, &job->settings, &both[1], &message);
        return r < 0 ? r : memfd_make_sealed("actord-settings", both, 2 * sizeof(JobSettings));
}

int job_launch_prepare(Job *job, int checkpoint_fd, LaunchRequest *request, const char **ret_what) {
        bool begins_anew = checkpoint_fd == -ENOENT && job->row.purpose != LAUNCH_EVALUATE;
        int r;

        *ret_what = "its checkpoint";
        if (checkpoint_fd < 0 && !begins_anew)
                return checkpoint_fd;
        fill_launch(job, &request->launch);
        request->launch.has_checkpoint = !begins_anew;
        request->fds[LAUNCH_FD_CHECKPOINT] =
                        begins_anew ? open("/dev/null", O_RDONLY | O_CLOEXEC) : checkpoint_fd;

        *ret_what = "memory for its settings";
        r = request->fds[LAUNCH_FD_SETTINGS] = seal_settings(job);
        if (r < 0)
                return r;
        *ret_what = "a descriptor for its actors' messages";
        r = request->fds[LAUNCH_FD_STDERR] = open_stderr(job);
        if (r < 0)
                return r;
        *ret_what = "its directory";
        r = request->fds[LAUNCH_FD_STATE] = job_state_open(job->context->jobs_fd, job->row.id);
        if (r < 0)
                return r;
        *ret_what = "its socket";
        r = request->fds[LAUNCH_FD_SOCKET] = listen_for_us(job);
        if (r < 0)
                return r;
        *ret_what = "its environment";
        r = add_plugin(job, request);
        if (r < 0)
                return r;
        *ret_what = "a directory that it brought";
        r = add_directories(job, request);
        if (r < 0)
                return r;
        *ret_what = "its data set";
        if (!job->settings.dataset[0] || job->row.purpose == LAUNCH_EVALUATE)
                return 0;
        return add_file(job, request, BUS_FILE_DATASET, DATASET_FILE);
}
