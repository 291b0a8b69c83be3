/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* When records become durable. What follows from it is noted in the jobs, and done soon. */
#include <assert.h>
#include "daemon/job.h"
#include "daemon/manager.h"
#include "daemon/spending.h"
#include "lib/boottime.h"
#include "lib/limits.h"

/* What jobs wait for has changed. */
static void say_waiting(Manager *manager) {
        for (guint i = 0; i < manager->jobs->len; i++) {
                Job *job = manager->jobs->pdata[i];

                if (job_active(job))
                        job_changed(job, JOB_CHANGE_STATE);
        }
}

void manager_ledger_blocked(Manager *manager, int error) {
        LogEntry entry;

        assert(manager);
        assert(error < 0);

        if (manager->ledger_blocked) {
                manager_commit_soon(manager);
                return;
        }
        manager->ledger_blocked = -error;
        manager_commit_soon(manager);
        say_waiting(manager);

        log_begin(&entry, MESSAGE_LEDGER_BLOCKED);
        log_field(&entry, "ACTORD_STATE=%s", manager->state_directory);
        log_field(&entry, "ACTORD_REASON=%s", ledger_error_words(error));
        log_send(&entry, LOG_CRIT,
                        "The ledger in %s cannot be written (%s%s); jobs pause when their spools are full.",
                        manager->state_directory, ledger_error_words(error), limit_advice(error));
}

/* All that was read of it and queued for it. */
static void note_durable(Job *job) {
        if (!job_active(job))
                return;
        if (job->link)
                job->acknowledged = plan_link_position(job->link) - (job->has_held ? 1 : 0);
        if (job->prune_round > 0)
                job->durable_round = job->prune_round;
        job->prune_round = 0;
        job_news(job, JOB_NEWS_COMMIT);
        if (job->end.queued && !job->end.durable) {
                job->end.durable = true;
                job_look(job);
        }
}

int manager_commit(Manager *manager) {
        g_autoptr(GHashTable) spenders = NULL;
        int r;

        assert(manager);

        /* Each try writes all pending records. While the disk is full there is one try a second, as thousands
         * of records may come in a second. */
        if (manager->ledger_blocked && clock_boottime() / 1000 < manager->commit_again_usec) {
                manager_commit_soon(manager);
                return -manager->ledger_blocked;
        }
        spending_note(manager, &spenders);
        r = ledger_commit(manager->ledger);
        if (r < 0) {
                manager->commit_again_usec = clock_boottime() / 1000 + COMMIT_RETRY_USEC;
                manager_ledger_blocked(manager, r);
                return r;
        }
        for (guint i = 0; i < manager->jobs->len; i++)
                note_durable(manager->jobs->pdata[i]);
        if (spenders)
                spending_look(manager, spenders);
        return 0;
}

void manager_commit_soon(Manager *manager) {
        uint64_t usec = manager->ledger_blocked ? COMMIT_RETRY_USEC : COMMIT_INTERVAL_USEC;

        assert(manager);

        /* actorctl recover completes a ledger without a daemon, and commits at once. */
        if (!manager->commit_timer || sd_event_source_get_enabled(manager->commit_timer, NULL) > 0)
                return;
        (void) sd_event_source_set_time_relative(manager->commit_timer, usec);
        (void) sd_event_source_set_enabled(manager->commit_timer, SD_EVENT_ONESHOT);
}
