/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A commit starts a timer, and the timer is set again only while there is work left, so that an idle daemon
 * never wakes up. */
#include "daemon/fold.h"

#include <assert.h>
#include <inttypes.h>
#include "daemon/log.h"
#include "daemon/sources.h"
#include "lib/boottime.h"
#include "lib/sanitise.h"

static uint64_t now_usec(void) {
        return clock_boottime() / 1000;
}

/* The process that reads the ledger: "process 4711 (sqlite3)". The name may be missing if the process
 * belongs to another user. */
static char *describe_reader(Ledger *ledger) {
        pid_t pid = ledger_reader(ledger);
        g_autofree char *path = NULL, *name = NULL, *safe = NULL;

        if (pid == 0)
                return g_strdup("another process");
        path = g_strdup_printf("/proc/%d/comm", (int) pid);
        if (!g_file_get_contents(path, &name, NULL, NULL))
                return g_strdup_printf("process %d", (int) pid);
        safe = sanitise_text(g_strchomp(name));
        return g_strdup_printf("process %d (%s)", (int) pid, safe);
}

static void say_pinned(Manager *manager, uint64_t bytes) {
        g_autofree char *who = describe_reader(manager->context.ledger), *date = NULL;
        g_autoptr(GDateTime) since = NULL, now = g_date_time_new_now_local();
        LogEntry entry;

        since = g_date_time_add(now, -(gint64) (now_usec() - manager->pinned_usec));
        date = g_date_time_format(since, "%Y-%m-%d %H:%M:%S");
        log_begin(&entry, MESSAGE_LEDGER_PINNED);
        log_field(&entry, "ACTORD_STATE=%s", manager->context.state_directory);
        log_field(&entry, "ACTORD_REASON=%s", who);
        log_send(&entry, LOG_WARNING,
                        "The write-ahead file of the ledger in %s has grown to %" PRIu64 " MiB and "
                        "cannot be truncated: %s has been reading the ledger in one transaction since %s "
                        "or longer. End that transaction, or the process.",
                        manager->context.state_directory, bytes >> 20, who, date);
}

/* Logs that a reader keeps the write-ahead file from shrinking, unless the file is small or this was logged
 * in the last hour. */
static void note_pinned(Manager *manager, uint64_t bytes) {
        uint64_t now = now_usec();

        if (manager->pinned_usec == 0)
                manager->pinned_usec = now;
        if (bytes < FOLD_BYTES ||
                        (manager->pinned_said_usec > 0 && now - manager->pinned_said_usec < FOLD_SAY_USEC))
                return;
        manager->pinned_said_usec = now;
        say_pinned(manager, bytes);
}

static void note_folded(Manager *manager) {
        if (manager->pinned_said_usec > 0)
                log_line(LOG_NOTICE, "The write-ahead file of the ledger in %s has been truncated again.",
                                manager->context.state_directory);
        manager->pinned_usec = manager->pinned_said_usec = 0;
}

/* Copies the write-ahead file into the ledger. Returns whether to try again later. */
static bool fold(Manager *manager) {
        bool quiet = now_usec() - manager->written_usec >= FOLD_INTERVAL_USEC;
        uint64_t bytes = ledger_wal_bytes(manager->context.ledger);
        int r;

        if (!quiet && bytes < FOLD_BYTES) {
                /* The reader is gone, and SQLite has begun to write the file from its start again. */
                if (manager->pinned_said_usec > 0)
                        note_folded(manager);
                return true;
        }
        r = bytes > 0 ? ledger_fold(manager->context.ledger) : 0;
        if (r > 0)
                note_pinned(manager, bytes);
        if (r == 0)
                note_folded(manager);
        /* A ledger that cannot be written is not reported here: the next commit fails, too, and reports
         * it. */
        return r != 0 || !quiet;
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata) {
        Manager *manager = userdata;
        int r;

        if (!fold(manager)) {
                manager->fold_timer = sd_event_source_disable_unref(manager->fold_timer);
                return 0;
        }
        r = sd_event_source_set_time_relative(source, FOLD_INTERVAL_USEC);
        return r < 0 ? r : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static void on_written(void *userdata) {
        Manager *manager = userdata;

        manager->written_usec = now_usec();
        if (!manager->fold_timer)
                (void) timer_start(manager->context.event, &manager->fold_timer, "fold", FOLD_INTERVAL_USEC,
                                on_timer, manager);
}

void fold_start(Manager *manager) {
        assert(manager);

        ledger_on_written(manager->context.ledger, on_written, manager);
        /* An earlier daemon may have left a write-ahead file, so the timer starts as after a commit. */
        on_written(manager);
}

void fold_done(Manager *manager) {
        assert(manager);

        if (manager->context.ledger)
                ledger_on_written(manager->context.ledger, NULL, NULL);
        manager->fold_timer = sd_event_source_disable_unref(manager->fold_timer);
}
