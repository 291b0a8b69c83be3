/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A *rest* is a directory with records that could not be written: a small ledger, and a file that names the
 * state directory to which it belongs. The rest lies in that directory or, if there is no space, in another
 * place that has some. */
#include "daemon/rest.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "daemon/commit.h"
#include "daemon/job-step.h"
#include "daemon/job.h"
#include "lib/cleanup.h"
#include "lib/fd.h"
#include "lib/sanitise.h"
#include "lib/tree.h"
#include "lib/string-tables.h"

#define REST_PREFIX "actord-rest-"
#define ORIGIN_NAME "origin"
#define LEDGER_NAME "ledger.sqlite"

DEFINE_CLEANUP(Job *, job_free)
DEFINE_CLEANUP(Ledger *, ledger_close)

/* The directories in which a *rest* may be stored (rows that the ledger did not take: daemon/rest.h), in the
 * order in which they are tried. */
static void places(const char *state_directory, const char *ret[5]) {
        const char *const all[] = { state_directory, g_get_tmp_dir(), "/var/tmp", "/dev/shm",
                g_get_user_runtime_dir() };

        for (size_t i = 0; i < G_N_ELEMENTS(all); i++)
                ret[i] = all[i];
}

static int write_origin(const char *directory, const char *state_directory) {
        g_autofree char *path = g_build_filename(directory, ORIGIN_NAME, NULL);

        return g_file_set_contents_full(path, state_directory, -1, G_FILE_SET_CONTENTS_DURABLE, 0600, NULL)
                               ? 0
                               : -EIO;
}

static int fill(Manager *manager, const char *directory) {
        g_autofree char *path = g_build_filename(directory, LEDGER_NAME, NULL);
        Ledger *ledger = NULL;
        int r;

        r = ledger_open(path, &ledger);
        if (r < 0)
                return r;
        JOBS_FOREACH (job, &manager->context.jobs) {
                r = ledger_job_put(ledger, &job->row);
                if (r < 0)
                        break;
        }
        if (r >= 0)
                r = ledger_rest_write(manager->context.ledger, ledger);
        (void) ledger_close(ledger);
        return r < 0 ? r : write_origin(directory, manager->context.state_directory);
}

static int keep_at(Manager *manager, const char *place, char **ret) {
        g_autofree char *directory = g_build_filename(place, REST_PREFIX "XXXXXX", NULL);
        int r;

        if (!g_mkdtemp_full(directory, 0700))
                return -errno;
        r = fill(manager, directory);
        if (r < 0) {
                (void) tree_remove(AT_FDCWD, directory, UINT_MAX);
                return r;
        }
        *ret = g_steal_pointer(&directory);
        return 0;
}

int rest_keep(Manager *manager, char **ret) {
        const char *all[5];
        int r;

        /* there will be no later commit: rows that the ledger does not take now go to a directory */
        manager->context.commit_again_usec = 0;
        JOBS_FOREACH (job, &manager->context.jobs)
                job_leave(job);
        r = commit_now(&manager->context);
        if (r >= 0 || manager->temporary) {
                manager->rest_kept = manager->rest_kept || r < 0;
                *ret = NULL;
                return 0;
        }
        places(manager->context.state_directory, all);
        for (size_t i = 0; i < G_N_ELEMENTS(all) && r < 0; i++)
                r = keep_at(manager, all[i], ret);
        manager->rest_kept = r >= 0;
        return r;
}

/* Reads which state directory the rows of a rest directory (daemon/rest.h) belong to. NULL: it is no rest
 * directory, or another user made it and could have written any path there. */
static char *origin_of(const char *directory) {
        g_autofree char *path = g_build_filename(directory, ORIGIN_NAME, NULL);
        char origin[PATH_MAX];
        struct stat st;

        if (lstat(directory, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
                return NULL;
        return file_read_at(AT_FDCWD, path, origin, sizeof(origin)) < 0 || !*origin ? NULL
                                                                                    : g_strdup(origin);
}

/* Whether another user made this rest directory (daemon/rest.h). The caller must then refuse it, and not
 * take it for the directory of a run. */
static bool is_foreign_rest(const char *directory) {
        g_autofree char *path = g_build_filename(directory, ORIGIN_NAME, NULL);
        struct stat st, origin;

        return lstat(directory, &st) >= 0 && st.st_uid != geteuid() && lstat(path, &origin) >= 0;
}

static bool belongs(const char *directory, const char *state_directory) {
        g_autofree char *origin = origin_of(directory);

        return g_strcmp0(origin, state_directory) == 0;
}

static int take(Ledger *ledger, const char *directory, unsigned *n_said) {
        g_autofree char *path = g_build_filename(directory, LEDGER_NAME, NULL);
        Ledger *rest = NULL;
        g_autofree char *safe = sanitise_text(directory);
        uint64_t n;
        int r;

        /* An older actord may have written this ledger: opening it for writing updates its schema. */
        r = ledger_open(path, &rest);
        if (r < 0)
                return r;
        (void) ledger_close(rest);
        r = ledger_rest_take(ledger, path, &n);
        if (r < 0)
                return r;
        (void) printf("%" PRIu64 " record%s taken in from %s.\n", n, n == 1 ? " was" : "s were", safe);
        (*n_said)++;
        r = tree_remove(AT_FDCWD, directory, UINT_MAX);
        if (r != 0)
                (void) fprintf(stderr, "actord: %s is no longer needed, but cannot be removed: %s.\n", safe,
                                g_strerror(r < 0 ? -r : EBUSY));
        return 0;
}

static int take_all(Ledger *ledger, const char *state_directory, unsigned *n_said) {
        const char *all[5];
        int r = 0;

        places(state_directory, all);
        for (size_t i = 0; i < G_N_ELEMENTS(all) && r >= 0; i++) {
                g_autoptr(GDir) directory = g_dir_open(all[i], 0, NULL);
                const char *name;

                while (r >= 0 && directory && (name = g_dir_read_name(directory))) {
                        g_autofree char *path = g_build_filename(all[i], name, NULL);

                        if (g_str_has_prefix(name, REST_PREFIX) && belongs(path, state_directory))
                                r = take(ledger, path, n_said);
                }
        }
        return r;
}

/* Ends a job whose daemon was killed. No more records of this job will come. */
static int end_job(JobContext *context, uint64_t id) {
        _cleanup_(job_freep) Job *job = NULL;
        int r;

        r = job_of_row(context, id, &job);
        if (r < 0)
                return r;
        r = job_load_progress(job, true);
        if (r < 0)
                return r;
        job_leave(job);
        if (ledger_n_pending(context->ledger) > 0)
                return -context->ledger_blocked;
        (void) printf("Job %" PRIu64 " has ended: %s after %" PRIu64 " rounds.\n", id,
                        plan_end_to_string(job->end.end), job->progress.round);
        return 0;
}

static int end_jobs(const char *state_directory, Ledger *ledger, unsigned *n_said) {
        g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(uint64_t));
        g_autoptr(GPtrArray) none = g_ptr_array_new();
        JobContext context = {
                .mode = DAEMON_RUN,
                .ledger = ledger,
                .jobs = { .all = none },
                .jobs_fd = -EBADF,
                .sockets_fd = -EBADF,
                .state_directory = (char *) state_directory,
        };
        int r;

        r = ledger_jobs_live(ledger, ids);
        for (guint i = 0; r >= 0 && i < ids->len; i++)
                r = end_job(&context, g_array_index(ids, uint64_t, i));
        if (r >= 0)
                *n_said += ids->len;
        return r;
}

static int recover(const char *path, const char *state_directory, unsigned *n_said) {
        _cleanup_(ledger_closep) Ledger *ledger = NULL;
        int r;

        if (access(path, R_OK) < 0)
                return -errno;
        r = ledger_open(path, &ledger);
        if (r < 0)
                return r;
        r = take_all(ledger, state_directory, n_said);
        return r < 0 ? r : end_jobs(state_directory, ledger, n_said);
}

static void say_failed(const char *ledger, int r) {
        bool full = r == -ENOSPC || r == -EDQUOT;

        (void) fprintf(stderr, "actord: The records that %s lacks could not be written to it: %s. %s.\n",
                        ledger, ledger_error_words(r),
                        full ? "They are kept where they are: free some space on the disk of the ledger, "
                               "then run `actorctl recover` again"
                             : "They are kept where they are");
}

int rest_recover(const char *directory) {
        g_autofree char *state = origin_of(directory), *path = NULL, *safe = NULL;
        unsigned n_said = 0;
        int r;

        if (!state && is_foreign_rest(directory)) {
                safe = sanitise_text(directory);
                (void) fprintf(stderr,
                                "actord: The records in %s belong to another user: run this command as that "
                                "user.\n",
                                safe);
                return -EPERM;
        }
        if (!state)
                state = g_canonicalize_filename(directory, NULL);
        path = g_build_filename(state, LEDGER_NAME, NULL);
        r = recover(path, state, &n_said);
        safe = sanitise_text(r == -EBUSY || r >= 0 ? state : path);
        if (r == -EBUSY)
                (void) fprintf(stderr, "actord: The run in %s is still going on: wait until it has ended.\n",
                                safe);
        else if (r < 0)
                say_failed(safe, r);
        else if (n_said == 0)
                (void) printf("The run in %s lacks nothing.\n", safe);
        return r;
}
