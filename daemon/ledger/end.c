/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What goes to disk with the records before it and never ahead of them: checkpoints that count from then
 * on, and ends of jobs. Both are queued as records are, so that a ledger that cannot be written keeps
 * them in order, and a reader never finds one without the other. */
#include "daemon/ledger/private.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "lib/cleanup.h"

static char *copy_of(const char *text) {
        return text ? strdup(text) : NULL;
}

static void end_done(LedgerEnd *end) {
        ledger_job_done(&end->row);
        free(end->currency);
        free(end->sheet_name);
        *end = (LedgerEnd){};
}

/* Copies an end with those members of its row that an end changes. */
static int end_copy(const LedgerEnd *from, LedgerEnd *ret) {
        LedgerEnd end = *from;

        end.row = (LedgerJob){
                .id = from->row.id,
                .life = from->row.life,
                .uid = from->row.uid,
                .started_usec = from->row.started_usec,
                .ended_usec = from->row.ended_usec,
                .state = strdup("ended"),
                .result = copy_of(from->row.result),
                .fault = copy_of(from->row.fault),
                .tag = copy_of(from->row.tag),
                .summary = copy_of(from->row.summary),
                .distribution = copy_of(from->row.distribution),
                .distribution_reason = copy_of(from->row.distribution_reason),
                .distribution_life = from->row.distribution_life,
                .n_learners = from->row.n_learners,
                .n_preempted = from->row.n_preempted,
                .paused_usec = from->row.paused_usec,
                .has_policy = from->row.has_policy,
        };
        memcpy(end.row.policy_sha256, from->row.policy_sha256, sizeof(end.row.policy_sha256));
        end.currency = copy_of(from->currency);
        end.sheet_name = copy_of(from->sheet_name);
        if (!end.row.state || !end.row.result || (from->row.summary && !end.row.summary)) {
                end_done(&end);
                return -ENOMEM;
        }
        *ret = end;
        return 0;
}

int ledger_end_append(Ledger *ledger, const LedgerEnd *end) {
        LedgerEnd copy;
        int r;

        assert(ledger);
        assert(end);

        if (ledger->n_ends >= LEDGER_ENDS_MAX)
                return -ENOBUFS;
        r = ledger_rows_grow(
                        &ledger->ends, &ledger->n_ends_allocated, ledger->n_ends, sizeof(*ledger->ends));
        if (r < 0)
                return r;
        r = end_copy(end, &copy);
        if (r < 0)
                return r;
        ledger->ends[ledger->n_ends++] = copy;
        return 0;
}

int ledger_checkpoint_append(Ledger *ledger, const LedgerCheckpoint *checkpoint) {
        LedgerCheckpoint copy;
        int r;

        assert(ledger);
        assert(checkpoint);

        if (ledger->n_checkpoints >= LEDGER_CHECKPOINTS_MAX)
                return -ENOBUFS;
        r = ledger_rows_grow(&ledger->checkpoints, &ledger->n_checkpoints_allocated, ledger->n_checkpoints,
                        sizeof(*ledger->checkpoints));
        if (r < 0)
                return r;
        copy = *checkpoint;
        copy.scheduler = NULL;
        if (checkpoint->scheduler_bytes > 0) {
                copy.scheduler = malloc(checkpoint->scheduler_bytes);
                if (!copy.scheduler)
                        return -ENOMEM;
                memcpy(copy.scheduler, checkpoint->scheduler, checkpoint->scheduler_bytes);
        }
        ledger->checkpoints[ledger->n_checkpoints++] = copy;
        return 0;
}

static int checkpoint_insert(Ledger *ledger, const LedgerCheckpoint *checkpoint) {
        _cleanup_statement_ sqlite3_stmt *statement = NULL;
        int r;

        r = ledger_prepare(ledger,
                        "INSERT OR REPLACE INTO checkpoints "
                        "(job, life, seq, round, name, sha256, scheduler) "
                        "VALUES (?, ?, ?, ?, ?, ?, ?)",
                        &statement);
        if (r < 0)
                return r;
        bind_u64(statement, 1, checkpoint->job);
        bind_u64(statement, 2, checkpoint->life);
        bind_u64(statement, 3, checkpoint->seq);
        bind_u64(statement, 4, checkpoint->round);
        bind_text(statement, 5, checkpoint->name);
        bind_hash(statement, 6, checkpoint->sha256, true);
        bind_blob(statement, 7, checkpoint->scheduler, checkpoint->scheduler_bytes);
        return ledger_step_done(ledger, statement);
}

/* Whether the totals have the job already, as its end may be written more than once: then its row has a
 * summary. */
static int is_counted(Ledger *ledger, uint64_t job, bool *ret) {
        _cleanup_statement_ sqlite3_stmt *statement = NULL;
        int r;

        r = ledger_prepare(ledger, "SELECT summary IS NOT NULL FROM jobs WHERE id = ?", &statement);
        if (r < 0)
                return r;
        bind_u64(statement, 1, job);
        r = ledger_row(ledger, statement);
        if (r < 0)
                return r;
        *ret = sqlite3_column_int(statement, 0);
        return 0;
}

static void month_of(uint64_t usec, char ret[16]) {
        time_t seconds = (time_t) (usec / 1000000u);
        struct tm tm = {};

        (void) gmtime_r(&seconds, &tm);
        (void) strftime(ret, 16, "%Y-%m", &tm);
}

/* An integer of SQLite's has a sign. */
static void bind_sum(sqlite3_stmt *statement, int at, uint64_t value) {
        bind_u64(statement, at, value < INT64_MAX ? value : INT64_MAX);
}

static int total_add(Ledger *ledger, const LedgerEnd *end) {
        _cleanup_statement_ sqlite3_stmt *statement = NULL;
        char month[16];
        int r;

        r = ledger_prepare(ledger,
                        "INSERT INTO totals (uid, month, tag, currency, sheet, n_jobs, full_nano, "
                        "paper_nano, n_env_steps, cpu_nsec) VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?, ?) "
                        "ON CONFLICT DO UPDATE SET " LEDGER_TOTALS,
                        &statement);
        if (r < 0)
                return r;
        month_of(end->row.ended_usec, month);
        bind_u64(statement, 1, end->row.uid);
        bind_text(statement, 2, month);
        bind_text(statement, 3, end->row.tag);
        bind_text(statement, 4, end->currency);
        bind_text(statement, 5, end->sheet_name);
        bind_sum(statement, 6, end->full_nano);
        bind_sum(statement, 7, end->paper_nano);
        bind_sum(statement, 8, end->n_env_steps);
        bind_sum(statement, 9, end->cpu_nsec);
        return ledger_step_done(ledger, statement);
}

/* With what lists show of an ended job. */
static int summary_write(Ledger *ledger, const LedgerEnd *end) {
        _cleanup_statement_ sqlite3_stmt *statement = NULL;
        int r;

        r = ledger_prepare(ledger,
                        "UPDATE jobs SET summary = ?, tag = ?, rounds = ?, env_steps = ?, return_mean = ?, "
                        "cost_full = ? "
                        "WHERE id = ?",
                        &statement);
        if (r < 0)
                return r;
        bind_text(statement, 1, end->row.summary);
        bind_text(statement, 2, end->row.tag);
        bind_u64(statement, 3, end->round);
        bind_u64(statement, 4, end->n_env_steps);
        /* NaN becomes NULL: not measured. */
        (void) sqlite3_bind_double(statement, 5, end->return_mean);
        (void) sqlite3_bind_double(statement, 6, end->cost_full);
        bind_u64(statement, 7, end->row.id);
        return ledger_step_done(ledger, statement);
}

static int end_insert(Ledger *ledger, const LedgerEnd *end) {
        bool counted = false;
        int r;

        r = is_counted(ledger, end->row.id, &counted);
        if (r < 0)
                return r;
        r = ledger_job_update(ledger, &end->row);
        if (r < 0)
                return r;
        r = summary_write(ledger, end);
        if (r < 0)
                return r;
        /* It costs nothing more. */
        r = ledger_exec_job(ledger, "DELETE FROM counted WHERE job = ?1", end->row.id, 0);
        if (r < 0)
                return r;
        return counted ? 0 : total_add(ledger, end);
}

int ledger_insert_ends(Ledger *ledger) {
        int r;

        for (size_t i = 0; i < ledger->n_checkpoints; i++) {
                r = checkpoint_insert(ledger, &ledger->checkpoints[i]);
                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < ledger->n_ends; i++) {
                r = end_insert(ledger, &ledger->ends[i]);
                if (r < 0)
                        return r;
        }
        return 0;
}

void ledger_ends_clear(Ledger *ledger) {
        for (size_t i = 0; i < ledger->n_checkpoints; i++)
                free(ledger->checkpoints[i].scheduler);
        for (size_t i = 0; i < ledger->n_ends; i++)
                end_done(&ledger->ends[i]);
        ledger->n_checkpoints = ledger->n_ends = 0;
}

typedef struct TotalsReader {
        int (*each)(const LedgerTotal *total, void *userdata);
        void *userdata;
} TotalsReader;

static int total_read(sqlite3_stmt *s, void *userdata) {
        const TotalsReader *reader = userdata;
        LedgerTotal total = {
                .uid = (uint32_t) sqlite3_column_int64(s, 0),
                .month = (const char *) sqlite3_column_text(s, 1),
                .tag = (const char *) sqlite3_column_text(s, 2),
                .currency = (const char *) sqlite3_column_text(s, 3),
                .sheet_name = (const char *) sqlite3_column_text(s, 4),
                .n_jobs = (uint64_t) sqlite3_column_int64(s, 5),
                .full_nano = (uint64_t) sqlite3_column_int64(s, 6),
                .paper_nano = (uint64_t) sqlite3_column_int64(s, 7),
                .n_env_steps = (uint64_t) sqlite3_column_int64(s, 8),
                .cpu_nsec = (uint64_t) sqlite3_column_int64(s, 9),
        };

        return reader->each(&total, reader->userdata);
}

int ledger_totals_foreach(Ledger *ledger, uint32_t uid,
                int (*each)(const LedgerTotal *total, void *userdata), void *userdata) {
        _cleanup_statement_ sqlite3_stmt *statement = NULL;
        TotalsReader reader = { each, userdata };
        int r;

        assert(ledger);
        assert(each);

        r = ledger_prepare(ledger,
                        "SELECT uid, month, tag, currency, sheet, n_jobs, full_nano, paper_nano, "
                        "n_env_steps, cpu_nsec "
                        "FROM totals WHERE ?1 = 4294967295 OR uid = ?1 "
                        "ORDER BY month, uid, tag, currency, sheet",
                        &statement);
        if (r < 0)
                return r;
        bind_u64(statement, 1, uid);
        return ledger_each(ledger, statement, total_read, &reader);
}
