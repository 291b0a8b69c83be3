/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* To remove a job's files, the daemon first renames the job's directory. The renaming is one step that
 * survives a crash, and no job number leads to the new name. Then the files are removed in small portions in
 * the background. If the daemon is killed, the next one finds the rest by the new name. The ledger keeps the
 * rows of the removed checkpoints: bills are made from records, and these rows tell which work counts and
 * which was repeated. */
#include "daemon/removals.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include "daemon/disk.h"
#include "daemon/files.h"
#include "daemon/log.h"
#include "daemon/sources.h"
#include "lib/tree.h"

#define PORTION       16u      /* files removed at a time; one may be a large checkpoint */
#define PORTIONS_MAX  1000000u /* for one directory; if there are more, a process is refilling it */
#define INTERVAL_USEC (3600ull * 1000 * 1000)
#define SHORTEST_USEC (1000ull * 1000)

typedef struct Removal {
        char *name;
        unsigned n_portions;
} Removal;

static void removal_free(void *p) {
        Removal *removal = p;

        g_free(removal->name);
        g_free(removal);
}

static void say_left(const Manager *manager, const char *name, int error) {
        LogEntry entry;

        log_begin(&entry, MESSAGE_FILES_LEFT);
        log_field(&entry, "ACTORD_STATE=%s", manager->context.state_directory);
        log_field(&entry, "ACTORD_REASON=%s", g_strerror(-error));
        log_send(&entry, LOG_WARNING, "%s/jobs/%s cannot be removed: %s.", manager->context.state_directory,
                        name, g_strerror(-error));
}

static void remove_portion(void *userdata) {
        Manager *manager = userdata;
        Removal *removal = g_queue_peek_head(&manager->removals);
        int r;

        r = tree_remove(manager->context.jobs_fd, removal->name, PORTION);
        if (r > 0 && ++removal->n_portions < PORTIONS_MAX)
                return;
        if (r != 0)
                say_left(manager, removal->name, r < 0 ? r : -EBUSY);
        removal_free(g_queue_pop_head(&manager->removals));
        if (g_queue_is_empty(&manager->removals))
                background_stop(&manager->removing);
}

/* Takes over the memory of name. If there is no memory for an event source, the next daemon removes the
 * directory. */
static void enqueue(Manager *manager, char *name) {
        Removal *removal = g_new0(Removal, 1);

        removal->name = name;
        if (background_start(&manager->removing, manager->context.event, "removal", BACKGROUND_USEC,
                            remove_portion, manager) < 0) {
                removal_free(removal);
                return;
        }
        g_queue_push_tail(&manager->removals, removal);
}

int files_remove(Manager *manager, uint64_t job, const char *reason) {
        LogEntry entry;
        char *name;
        int r;

        assert(manager);
        assert(reason);

        r = job_directory_retire(manager->context.jobs_fd, job, &name);
        disk_count(&manager->context, job);
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        enqueue(manager, name);

        log_begin(&entry, MESSAGE_FILES_REMOVED);
        log_field(&entry, "ACTORD_JOB=%" PRIu64, job);
        log_field(&entry, "ACTORD_REASON=%s", reason);
        log_send(&entry, LOG_INFO, "The files of job %" PRIu64 " are removed: %s.", job, reason);
        return 0;
}

bool files_are_over(uint64_t ended_usec, uint64_t now_usec, uint64_t keep_usec) {
        return keep_usec > 0 && ended_usec > 0 && now_usec > ended_usec &&
               now_usec - ended_usec >= keep_usec;
}

/* Goes through the directories and not through the jobs: KeepJobs= may have dropped a job whose directory
 * still exists. A directory whose job is not in the ledger stays: it belongs to another ledger. */
static void remove_old(Manager *manager) {
        g_autoptr(GArray) jobs = job_directories_list(manager->context.jobs_fd);
        uint64_t now_usec = (uint64_t) g_get_real_time();

        for (guint i = 0; i < jobs->len; i++) {
                uint64_t job = g_array_index(jobs, uint64_t, i), ended_usec;
                uint32_t uid;
                int r;

                if (ledger_job_ended(manager->context.ledger, job, &uid, &ended_usec) < 0 ||
                                !files_are_over(ended_usec, now_usec,
                                                manager->context.config.keep_files_usec))
                        continue;
                r = files_remove(manager, job, "KeepFilesSec= is over");
                if (r < 0) {
                        g_autofree char *name = g_strdup_printf("%" PRIu64, job);

                        say_left(manager, name, r);
                }
        }
}

static int on_files_timer(sd_event_source *source, uint64_t usec, void *userdata) {
        Manager *manager = userdata;
        uint64_t wait = CLAMP(manager->context.config.keep_files_usec, SHORTEST_USEC, INTERVAL_USEC);
        int r;

        remove_old(manager);
        r = sd_event_source_set_time_relative(source, wait);
        return r < 0 ? r : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

void removals_start(Manager *manager) {
        g_autoptr(GPtrArray) names = NULL;

        assert(manager);

        names = job_directories_sweep(manager->context.jobs_fd);
        for (guint i = 0; i < names->len; i++) {
                uint64_t job;

                /* A daemon that was killed may not have updated the size of the job's files in the
                 * ledger. */
                if (job_directory_was(names->pdata[i], &job))
                        disk_count(&manager->context, job);
                enqueue(manager, g_strdup(names->pdata[i]));
        }

        /* In run mode the caller owns the directory and removes it as a whole. */
        if (manager->context.config.keep_files_usec == 0 || manager->context.mode == DAEMON_RUN)
                return;
        if (timer_start(manager->context.event, &manager->files_timer, "old-files", 0, on_files_timer,
                            manager) < 0)
                log_line(LOG_ERR, "There is no memory for the timer of KeepFilesSec=: old files of jobs "
                                  "may stay until actord is restarted.");
}

void removals_done(Manager *manager) {
        assert(manager);

        background_stop(&manager->removing);
        manager->files_timer = sd_event_source_disable_unref(manager->files_timer);
        g_queue_clear_full(&manager->removals, removal_free);
}
