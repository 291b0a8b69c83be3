/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The daemon's work, in one event source: it takes the jobs with news from the list (jobs.h), lets
 * job_step() decide what follows for each, tells the bus what has changed, and looks at the queue. A second
 * source commits. When the ledger can be written again, this source resumes the work that waited for it. */
#include <assert.h>
#include <errno.h>
#include <systemd/sd-daemon.h>
#include "daemon/commit.h"
#include "daemon/ended.h"
#include "daemon/job-bus.h"
#include "daemon/job-records.h"
#include "daemon/job-step.h"
#include "daemon/job-turn.h"
#include "daemon/job.h"
#include "daemon/line.h"
#include "daemon/places.h"
#include "daemon/rest.h"
#include "daemon/sources.h"
#include "daemon/trading.h"
#include "daemon/trim.h"
#include "daemon/users.h"

/* Removes ended jobs from the list of jobs: an ended job is only a row of the ledger. Its D-Bus path stays
 * valid. */
static void let_ended_go(Manager *manager) {
        for (guint i = manager->context.jobs.all->len; i-- > 0;) {
                Job *job = manager->context.jobs.all->pdata[i];

                if (job->state != JOB_ENDED || job->unsaved)
                        continue;
                (void) sd_bus_emit_object_removed(manager->context.bus, job->path);
                (void) g_ptr_array_remove_index(manager->context.jobs.all, i);
                ended_keep(manager, job);
                trim_soon(manager);
        }
}

/* Whether the daemon may exit. In run mode it may when its job has ended, or when the rows that the ledger
 * lacks were saved elsewhere or dropped. In other modes running jobs go on without the daemon. It does not
 * wait for a launch in flight: systemd orders scopes after the daemon's unit, so it would not start the
 * launch's scope before the daemon is gone. */
static bool may_exit(const Manager *manager) {
        return manager->context.mode != DAEMON_RUN || manager->rest_kept ||
               manager->context.jobs.n_queued + manager->context.jobs.n_running == 0;
}

/* Exits as soon as the daemon may. A daemon whose state directory is temporary does not wait for space. */
static void exit_in_time(Manager *manager) {
        g_autofree char *rest = NULL;

        if (manager->temporary && manager->context.ledger_blocked && !manager->rest_kept)
                (void) rest_keep(manager, &rest);
        if (may_exit(manager))
                (void) sd_event_exit(manager->context.event, 0);
}

/* Works on the jobs that have news now. News that comes meanwhile is left for the next turn. */
static void do_jobs(Manager *manager) {
        for (guint n = manager->context.jobs.work.length; n > 0; n--) {
                Job *job = jobs_next_work(&manager->context.jobs);

                if (!job)
                        return;
                job_step(job);
                job_say_changes(job);
        }
}

static int on_stop_timeout(sd_event_source *source, uint64_t usec, void *userdata) {
        Manager *manager = userdata;
        g_autofree char *rest = NULL;

        if (manager->context.mode == DAEMON_RUN && rest_keep(manager, &rest) >= 0 && rest)
                log_line(LOG_ERR,
                                "The records that the ledger in %s lacks are in %s: `actorctl recover` "
                                "adds them.",
                                manager->context.state_directory, rest);
        log_line(LOG_ERR,
                        "actord could not end in good order and ends now; its ledger in %s may have been "
                        "removed.",
                        manager->context.state_directory);
        return sd_event_exit(manager->context.event, EXIT_FAILURE);
}

void manager_stop(Manager *manager) {
        assert(manager);

        if (!manager->stopping) {
                (void) sd_notify(false, "STOPPING=1\nSTATUS=Ending; running jobs go on.");
                (void) deadline_start(manager->context.event, &manager->stop_timer, "stop-timeout",
                                STOP_LONGEST_USEC, on_stop_timeout, manager);
        }
        manager->stopping = true;
        (void) commit_now(&manager->context);

        if (manager->context.mode == DAEMON_RUN)
                JOBS_FOREACH (job, &manager->context.jobs)
                        (void) job_stop(job, PLAN_END_INTERRUPTED, "its daemon ends");
        do_jobs(manager);
        exit_in_time(manager);
}

static void schedule(Manager *manager) {
        manager->context.jobs.schedule_wanted = false;
        /* The only caller of run mode is gone, and its job must end. */
        if (manager->caller_gone && !manager->stopping)
                manager_stop(manager);
        if (users_take_news(manager->context.users))
                line_again(manager->lines, LINE_LOOKUPS);
        let_ended_go(manager);
        places_fill(manager);
        trading_arm(manager);

        (void) sd_notifyf(false, "STATUS=%u jobs run, %u are queued.", manager->context.jobs.n_running,
                        manager->context.jobs.n_queued);
        if (manager->stopping)
                exit_in_time(manager);
        manager_idle_arm(manager);
}

static int on_work(sd_event_source *source, void *userdata) {
        Manager *manager = userdata;

        /* A daemon that does not get its name ends, so it starts nothing before it has the name. The news
         * stays in the list until then. */
        if (manager->name_until_usec > 0)
                return 0;
        do_jobs(manager);
        if (manager->context.jobs.schedule_wanted)
                schedule(manager);
        manager_emit_counts(manager);
        return 0;
}

static void ledger_recovered(Manager *manager) {
        LogEntry entry;

        manager->context.ledger_blocked = 0;
        log_begin(&entry, MESSAGE_LEDGER_RECOVERED);
        log_send(&entry, LOG_NOTICE, "The ledger can be written again.");
        jobs_schedule(&manager->context.jobs);

        /* Each job reads its spool again, since the ledger refused the job's last records. */
        JOBS_FOREACH (job, &manager->context.jobs) {
                if (!job_active(job))
                        continue;
                (void) job_read(job);
                job_changed(job, JOB_CHANGE_STATE);
        }
}

/* Writes rows of jobs that could not be written while the ledger was blocked. */
static int save_unsaved(Manager *manager) {
        JOBS_FOREACH (job, &manager->context.jobs) {
                int r = job->unsaved ? job_save(job) : 0;

                if (r < 0)
                        return r;
        }
        return 0;
}

/* Whether it is useless to wait until the ledger can be written. A full disk may get space while a run
 * waits, but a memory limit does not change. */
static bool waits_in_vain(const Manager *manager) {
        return manager->context.ledger_blocked == ENOMEM &&
               context_lacks_for_ever(&manager->context, ENOMEM);
}

static void commit_or_probe(Manager *manager) {
        int r;

        if (commit_now(&manager->context) < 0 || !manager->context.ledger_blocked ||
                        save_unsaved(manager) < 0)
                return;
        /* If no record waited for the commit, it wrote nothing, and a probe must show whether the disk can
         * be written. */
        r = ledger_probe(manager->context.ledger);
        if (r < 0)
                commit_failed(&manager->context, r);
        else
                ledger_recovered(manager);
}

static int on_commit(sd_event_source *source, uint64_t usec, void *userdata) {
        Manager *manager = userdata;

        commit_or_probe(manager);
        if (manager->stopping)
                exit_in_time(manager);
        if (waits_in_vain(manager) && !manager->stopping)
                manager_stop(manager);
        return 0;
}

int manager_work_start(Manager *manager) {
        int r;

        assert(manager);

        r = repeat_start(manager->context.event, &manager->context.jobs.work_source, "work",
                        SD_EVENT_PRIORITY_NORMAL, on_work, manager);
        if (r < 0)
                return r;
        (void) sd_event_source_set_enabled(manager->context.jobs.work_source, SD_EVENT_OFF);
        r = sd_event_add_time(manager->context.event, &manager->context.commit_timer, CLOCK_BOOTTIME, 0,
                        COMMIT_INTERVAL_USEC / 10, on_commit, manager);
        if (r < 0)
                return r;
        (void) sd_event_source_set_description(manager->context.commit_timer, "commit");
        return sd_event_source_set_enabled(manager->context.commit_timer, SD_EVENT_OFF);
}
