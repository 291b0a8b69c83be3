/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Descriptors that come back are checked like those of a stranger, since others may interfere: systemctl,
 * or a ledger that was exchanged. */
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

#define NAME_FORMAT "job-%" PRIu64 "-directory"

/* A private daemon keeps nothing: no daemon comes after it, and the service manager that its environment
 * names belongs to another program. */
static bool has_keeper(const JobContext *context) {
        return context->mode != DAEMON_RUN;
}

void directory_keep(const Job *job) {
        char state[96];

        assert(job);

        if (job->directory_fd < 0 || !has_keeper(job->context))
                return;
        (void) snprintf(state, sizeof(state), "FDSTORE=1\nFDNAME=" NAME_FORMAT, job->row.id);
        if (sd_pid_notify_with_fds(0, false, state, &job->directory_fd, 1) < 0)
                log_line(LOG_WARNING,
                                "The service manager could not be given the directory of job %" PRIu64 ".",
                                job->row.id);
}

void directory_forget(const Job *job) {
        assert(job);

        if (job->directory_fd >= 0 && has_keeper(job->context))
                (void) sd_notifyf(false, "FDSTOREREMOVE=1\nFDNAME=" NAME_FORMAT, job->row.id);
}

/* Runs in a process of its own: holds the directory until the daemon has closed it, so that the last close,
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

/* If no process or pipe can be made, the directory stays open, since closing it here could hang the
 * daemon. Each later call tries again. At most one directory for each ended job waits like that. */
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

static Job *job_of_name(const JobContext *context, const char *name) {
        char expected[64];
        uint64_t id;
        Job *job;

        if (sscanf(name, NAME_FORMAT, &id) != 1)
                return NULL;
        (void) snprintf(expected, sizeof(expected), NAME_FORMAT, id);
        job = g_str_equal(name, expected) ? jobs_find(&context->jobs, id) : NULL;
        return job && job->state != JOB_ENDED && job->directory_fd < 0 &&
                                               environment_directory(&job->settings)
                               ? job
                               : NULL;
}

void directories_take(JobContext *context) {
        g_auto(GStrv) names = NULL;
        int n;

        assert(context);

        if (!has_keeper(context))
                return;
        n = sd_listen_fds_with_names(true, &names);
        for (int i = 0; i < n; i++) {
                _cleanup_(directory_fd_dropp) int fd = SD_LISTEN_FDS_START + i;
                Job *job = job_of_name(context, names[i]);

                /* The spawner checks it, as it checks any other. */
                if (job)
                        job->directory_fd = TAKE_FD(fd);
                else
                        (void) sd_notifyf(false, "FDSTOREREMOVE=1\nFDNAME=%s", names[i]);
        }
}
