/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/commit.h"

#include <assert.h>
#include "daemon/job.h"
#include "daemon/spending.h"
#include "lib/boottime.h"
#include "lib/limits.h"

/* Notes a change of the jobs' property Waiting. */
static void say_waiting(JobContext *context) {
        JOBS_FOREACH (job, &context->jobs) {
                if (job_active(job))
                        job_changed(job, JOB_CHANGE_STATE);
        }
}

void commit_failed(JobContext *context, int error) {
        LogEntry entry;

        assert(context);
        assert(error < 0);

        if (context->ledger_blocked) {
                commit_soon(context);
                return;
        }
        context->ledger_blocked = -error;
        commit_soon(context);
        say_waiting(context);

        log_begin(&entry, MESSAGE_LEDGER_BLOCKED);
        log_field(&entry, "ACTORD_STATE=%s", context->state_directory);
        log_field(&entry, "ACTORD_REASON=%s", ledger_error_words(error));
        log_send(&entry, LOG_CRIT,
                        "The ledger in %s cannot be written (%s%s); jobs pause when their spools are full.",
                        context->state_directory, ledger_error_words(error), limit_advice(error));
}

/* Call this when all records from the job's spool, and all rows queued for it, are durable. */
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

int commit_now(JobContext *context) {
        g_autoptr(GHashTable) spenders = NULL;
        int r;

        assert(context);

        /* Each try writes all pending records. While the disk is full, only one try is made in a second,
         * although thousands of records may arrive. */
        if (context->ledger_blocked && clock_boottime() / 1000 < context->commit_again_usec) {
                commit_soon(context);
                return -context->ledger_blocked;
        }
        spending_note(context, &spenders);
        r = ledger_commit(context->ledger);
        if (r < 0) {
                context->commit_again_usec = clock_boottime() / 1000 + COMMIT_RETRY_USEC;
                commit_failed(context, r);
                return r;
        }
        JOBS_FOREACH (job, &context->jobs)
                note_durable(job);
        if (spenders)
                spending_look(context, spenders);
        return 0;
}

void commit_soon(JobContext *context) {
        uint64_t usec;

        assert(context);

        /* actorctl recover completes a ledger without a daemon, and commits at once. */
        if (!context->commit_timer || sd_event_source_get_enabled(context->commit_timer, NULL) > 0)
                return;
        usec = context->ledger_blocked ? COMMIT_RETRY_USEC : COMMIT_INTERVAL_USEC;
        (void) sd_event_source_set_time_relative(context->commit_timer, usec);
        (void) sd_event_source_set_enabled(context->commit_timer, SD_EVENT_ONESHOT);
}
