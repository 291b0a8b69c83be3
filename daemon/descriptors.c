/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The names of the descriptors that the service manager returns are not trusted: other programs (systemctl)
 * can change them, and the ledger may have been replaced meanwhile. */
#include "daemon/descriptors.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>
#include "lib/cleanup.h"
#include "lib/environments.h"

#define NAME_FORMAT "job-%" PRIu64 "-%s" /* %s: the file word of the directory's kind (lib/directory.h) */

/* Whether a service manager keeps descriptors for this daemon. It does not in run mode: no daemon comes
 * after this one, and the service manager in its environment belongs to another program. */
static bool has_keeper(const JobContext *context) {
        return context->mode != DAEMON_RUN;
}

void directories_keep(const Job *job) {
        char state[96];

        assert(job);

        for (DirectoryKind kind = 0; kind < _DIRECTORY_KIND_MAX && has_keeper(job->context); kind++) {
                if (job->directories.fds[kind] < 0)
                        continue;
                (void) snprintf(state, sizeof(state), "FDSTORE=1\nFDNAME=" NAME_FORMAT, job->row.id,
                                directory_row(kind)->file);
                if (sd_pid_notify_with_fds(0, false, state, &job->directories.fds[kind], 1) < 0)
                        log_line(LOG_WARNING,
                                        "The directory of %s= of job %" PRIu64 " could not be given to "
                                        "the service manager.",
                                        directory_row(kind)->key, job->row.id);
        }
}

void directories_forget(const Job *job) {
        assert(job);

        for (DirectoryKind kind = 0; kind < _DIRECTORY_KIND_MAX && has_keeper(job->context); kind++)
                if (job->directories.fds[kind] >= 0)
                        (void) sd_notifyf(false, "FDSTOREREMOVE=1\nFDNAME=" NAME_FORMAT, job->row.id,
                                        directory_row(kind)->file);
}

char *directories_lost_sentence(const Job *job) {
        assert(job);

        return g_strdup_printf(
                        "the directory of %s= was not kept while the daemon was away (systemd keeps it over "
                        "a restart of the daemon, but not when the daemon is stopped or the machine "
                        "restarts): submit the job again",
                        directory_row(job_lost_directory(job))->key);
}

/* Runs in a process of its own, and holds the directory until the daemon has closed it. So the last close,
 * which may hang, happens here. */
_Noreturn static void drop_last(int directory_fd, int sync_fd) {
        char byte;

        (void) prctl(PR_SET_NAME, "actord-drop");
        if (dup2(directory_fd, STDIN_FILENO) >= 0 && dup2(sync_fd, STDOUT_FILENO) >= 0) {
                (void) close_range(STDERR_FILENO, ~0u, 0);
                (void) !read(STDOUT_FILENO, &byte, 1);
        }
        _exit(EXIT_SUCCESS);
}

static bool drop(int fd) {
        int pair[2];
        pid_t pid;

        if (pipe2(pair, O_CLOEXEC) < 0)
                return false;
        pid = fork();
        if (pid == 0)
                drop_last(fd, pair[0]);
        if (pid > 0)
                (void) close(fd);
        (void) close(pair[0]);
        (void) close(pair[1]);
        return pid > 0;
}

/* If no process or pipe can be made, the directory stays open, since closing it here could hang the daemon.
 * Each later call tries again. Only directories that no job uses wait in this way. */
void directory_fd_drop(int fd) {
        static GArray *left;

        if (fd < 0)
                return;
        if (!left)
                left = g_array_new(FALSE, FALSE, sizeof(int));
        g_array_append_val(left, fd);
        while (left->len > 0 && drop(g_array_index(left, int, left->len - 1)))
                g_array_set_size(left, left->len - 1);
}

void directories_drop(Directories *directories) {
        assert(directories);

        for (DirectoryKind kind = 0; kind < _DIRECTORY_KIND_MAX; kind++)
                directory_fd_drop(TAKE_FD(directories->fds[kind]));
}

/* The place of a directory in the job for which it was kept; NULL: the name is not such a name, or the job
 * has ended, or it does not lack this directory. */
static int *place_of_name(const JobContext *context, const char *name) {
        char expected[64], file[32];
        DirectoryKind kind;
        uint64_t id;
        Job *job;

        if (sscanf(name, "job-%" SCNu64 "-%31s", &id, file) != 2)
                return NULL;
        kind = directory_kind_of_file(file);
        (void) snprintf(expected, sizeof(expected), NAME_FORMAT, id, file);
        if (kind == _DIRECTORY_KIND_MAX || !g_str_equal(name, expected))
                return NULL;
        job = jobs_find(&context->jobs, id);
        if (!job || job->state == JOB_ENDED || job->directories.fds[kind] >= 0 ||
                        !environment_directory(&job->settings, kind))
                return NULL;
        return &job->directories.fds[kind];
}

void directories_take(JobContext *context) {
        g_auto(GStrv) names = NULL;
        int n;

        assert(context);

        if (!has_keeper(context))
                return;
        n = sd_listen_fds_with_names(true, &names);
        for (int i = 0; i < n; i++) {
                int fd = SD_LISTEN_FDS_START + i, *place = place_of_name(context, names[i]);

                /* The job gets its directory back unchecked: the spawner checks every directory. */
                if (place) {
                        *place = fd;
                        continue;
                }
                directory_fd_drop(fd);
                (void) sd_notifyf(false, "FDSTOREREMOVE=1\nFDNAME=%s", names[i]);
        }
}
