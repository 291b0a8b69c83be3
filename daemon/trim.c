/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Removes old records in the background, in small steps, each a transaction of its own. If a killed daemon
 * has begun a removal, the ledger says so, and this removal comes first. After a removal, a job's bill is
 * made from its summary. So a job whose summary cannot be read keeps its records. */
#include "daemon/trim.h"

#include <assert.h>
#include <inttypes.h>
#include "daemon/ended.h"
#include "daemon/job.h"
#include "daemon/log.h"
#include "daemon/sources.h"
#include "daemon/summary.h"
#include "include/bus.h"

#define STEP_ROWS     512u
#define STEP_PAGES    128u
#define INTERVAL_USEC (3600ull * 1000 * 1000)
#define SHORTEST_USEC (1000ull * 1000)

static bool is_over_size(Manager *manager) {
        uint64_t used;

        return manager->context.config.ledger_max_bytes > 0 &&
               ledger_used_bytes(manager->context.ledger, &used) >= 0 &&
               used > manager->context.config.ledger_max_bytes;
}

/* The time before which a job must have ended for its records to be removed. */
static uint64_t limit_usec(Manager *manager, uint64_t now_usec) {
        uint64_t keep_usec = manager->context.config.keep_records_usec;

        if (is_over_size(manager))
                return UINT64_MAX;
        return keep_usec > 0 && keep_usec < now_usec ? now_usec - keep_usec : 0;
}

static bool has_summary(const LedgerJob *row) {
        g_autofree Progress *progress = g_new0(Progress, 1);
        bool readable;

        progress_init(progress);
        readable = row->summary && summary_read(row->summary, progress) >= 0;
        progress_done(progress);
        return readable;
}

static void say_removed(uint64_t job) {
        LogEntry entry;

        log_begin(&entry, MESSAGE_RECORDS_REMOVED);
        log_field(&entry, "ACTORD_JOB=%" PRIu64, job);
        log_send(&entry, LOG_INFO,
                        "The records of job %" PRIu64
                        " are removed from the ledger (KeepRecordsSec= or LedgerMax= of actord.conf); its "
                        "bill stays.",
                        job);
}

/* Prepares the removal of a job's records. 1: they may be removed. 0: they are kept. */
static int begin(Manager *manager, uint64_t id) {
        __attribute__((cleanup(ledger_job_done))) LedgerJob row = {};
        int r;

        r = ledger_job_get(manager->context.ledger, id, &row);
        if (r < 0)
                return r;
        if (row.trimmed_usec > 0)
                return 1;
        if (has_summary(&row)) {
                say_removed(id);
                return 1;
        }
        log_line(LOG_WARNING,
                        "The summary of job %" PRIu64 " cannot be read, so its records stay in the ledger.",
                        id);
        return ledger_trim_never(manager->context.ledger, id);
}

/* Removes a portion of records. 1: there may be more to do. */
static int step(Manager *manager) {
        uint64_t now_usec = (uint64_t) g_get_real_time(), id;
        bool done;
        int r;

        r = ledger_trim_next(manager->context.ledger, limit_usec(manager, now_usec), &id);
        if (r == -ENOENT)
                return ledger_give_back(manager->context.ledger, STEP_PAGES);
        if (r < 0)
                return r;
        if (id != manager->trimming) {
                r = begin(manager, id);
                if (r <= 0)
                        return r < 0 ? r : 1;
                manager->trimming = id;
        }
        /* A later call trims this job: its end is not announced yet, or a method call reads its records. */
        if (jobs_find(&manager->context.jobs, id) || !ended_forget(manager, id))
                return 0;
        r = ledger_trim_step(manager->context.ledger, id, now_usec, STEP_ROWS, &done);
        return r < 0 ? r : 1;
}

static void trim_some(void *userdata) {
        Manager *manager = userdata;
        int r;

        /* Records that wait to be written have priority. A ledger that cannot be written cannot be trimmed
         * either. */
        if (manager->context.ledger_blocked || ledger_is_full(manager->context.ledger)) {
                background_stop(&manager->trimming_records);
                return;
        }
        r = step(manager);
        if (r < 0)
                log_line(LOG_WARNING,
                                "Records that are old enough could not be removed from the ledger (%s); "
                                "actord tries again within the hour.",
                                ledger_error_words(r));
        if (r <= 0)
                background_stop(&manager->trimming_records);
}

void trim_soon(Manager *manager) {
        assert(manager);

        /* In run mode the ledger belongs to the caller, and keeps all its records. */
        if (manager->context.mode != DAEMON_RUN)
                (void) background_start(&manager->trimming_records, manager->context.event, "old-records",
                                BACKGROUND_USEC, trim_some, manager);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata) {
        Manager *manager = userdata;
        uint64_t keep_usec = manager->context.config.keep_records_usec,
                 wait = keep_usec > 0 ? CLAMP(keep_usec, SHORTEST_USEC, INTERVAL_USEC) : INTERVAL_USEC;
        int r;

        trim_soon(manager);
        r = sd_event_source_set_time_relative(source, wait);
        return r < 0 ? r : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

void trim_start(Manager *manager) {
        assert(manager);

        if (manager->context.mode == DAEMON_RUN)
                return;
        if (timer_start(manager->context.event, &manager->trim_timer, "old-records-timer", 0, on_timer,
                            manager) < 0)
                log_line(LOG_ERR, "There is no memory for the timer of KeepRecordsSec= and LedgerMax=: "
                                  "old records may stay until actord is restarted.");
}

void trim_done(Manager *manager) {
        assert(manager);

        background_stop(&manager->trimming_records);
        manager->trim_timer = sd_event_source_disable_unref(manager->trim_timer);
}
