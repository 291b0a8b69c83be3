/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rows of checkpoints and of ends of jobs. Such a row must not reach the disk before the records that
 * precede it, so it is queued like a record. The order stays the same even while the ledger cannot be
 * written, and no reader finds such a row without its records. */
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

/* Copies the end of a job with only those members of its row that the end changes. */
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
        return ledger_write(ledger,
                        "INSERT OR REPLACE INTO checkpoints "
                        "(job, life, seq, round, name, sha256, scheduler) "
                        "VALUES (?, ?, ?, ?, ?, ?, ?)",
                        VALUES(of_u64(checkpoint->job), of_u64(checkpoint->life), of_u64(checkpoint->seq),
                                        of_u64(checkpoint->round), of_text(checkpoint->name),
                                        of_hash(checkpoint->sha256, true),
                                        of_blob(checkpoint->scheduler, checkpoint->scheduler_bytes)));
}

static void month_of(uint64_t usec, char ret[16]) {
        time_t seconds = (time_t) (usec / 1000000u);
        struct tm tm = {};

        (void) gmtime_r(&seconds, &tm);
        (void) strftime(ret, 16, "%Y-%m", &tm);
}

static int total_add(Ledger *ledger, const LedgerEnd *end) {
        char month[16];

        month_of(end->row.ended_usec, month);
        return ledger_write(ledger,
                        "INSERT INTO totals (uid, month, tag, currency, sheet, n_jobs, full_nano, "
                        "paper_nano, n_env_steps, cpu_nsec) VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?, ?) "
                        "ON CONFLICT DO UPDATE SET " LEDGER_TOTALS,
                        VALUES(of_u64(end->row.uid), of_text(month), of_text(end->row.tag),
                                        of_text(end->currency), of_text(end->sheet_name),
                                        of_capped(end->full_nano), of_capped(end->paper_nano),
                                        of_capped(end->n_env_steps), of_capped(end->cpu_nsec)));
}

/* Writes the columns that only an ended job has: its summary, and those that lists of jobs show. */
static int summary_write(Ledger *ledger, const LedgerEnd *end) {
        return ledger_write(ledger,
                        "UPDATE jobs SET summary = ?, tag = ?, rounds = ?, env_steps = ?, return_mean = ?, "
                        "cost_full = ? "
                        "WHERE id = ?",
                        VALUES(of_text(end->row.summary), of_text(end->row.tag), of_u64(end->round),
                                        of_u64(end->n_env_steps), of_double(end->return_mean),
                                        of_double(end->cost_full), of_u64(end->row.id)));
}

static int end_insert(Ledger *ledger, const LedgerEnd *end) {
        uint64_t counted;
        int r;

        /* The end may be written more than once. If the row has a summary, the totals include the job
         * already. */
        r = ledger_number(ledger, "SELECT summary IS NOT NULL FROM jobs WHERE id = ?",
                        VALUES(of_u64(end->row.id)), &counted);
        if (r < 0)
                return r;
        r = ledger_job_update(ledger, &end->row);
        if (r < 0)
                return r;
        r = summary_write(ledger, end);
        if (r < 0)
                return r;
        /* An ended job has no further costs to count. */
        r = ledger_write(ledger, "DELETE FROM counted WHERE job = ?", VALUES(of_u64(end->row.id)));
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

static LedgerTotal total_read(sqlite3_stmt *s) {
        return (LedgerTotal){
                .uid = (uint32_t) column_u64(s, 0),
                .month = column_string(s, 1),
                .tag = column_string(s, 2),
                .currency = column_string(s, 3),
                .sheet_name = column_string(s, 4),
                .n_jobs = column_u64(s, 5),
                .full_nano = column_u64(s, 6),
                .paper_nano = column_u64(s, 7),
                .n_env_steps = column_u64(s, 8),
                .cpu_nsec = column_u64(s, 9),
        };
}

int ledger_totals_foreach(Ledger *ledger, uint32_t uid,
                int (*each)(const LedgerTotal *total, void *userdata), void *userdata) {
        _cleanup_statement_ sqlite3_stmt *statement = NULL;
        int r;

        assert(ledger);
        assert(each);

        r = ledger_query(ledger,
                        "SELECT uid, month, tag, currency, sheet, n_jobs, full_nano, paper_nano, "
                        "n_env_steps, cpu_nsec "
                        "FROM totals WHERE ?1 = 4294967295 OR uid = ?1 "
                        "ORDER BY month, uid, tag, currency, sheet",
                        VALUES(of_u64(uid)), &statement);
        if (r < 0)
                return r;
        while ((r = ledger_next(ledger, statement)) > 0) {
                LedgerTotal total = total_read(statement);

                r = each(&total, userdata);
                if (r != 0)
                        return r;
        }
        return r;
}
