/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Removes rows of ended jobs: records, statistics and decisions, a few in each transaction. The first
 * transaction also notes in the job's row that its rows are being removed, so that no reader takes the
 * remaining rows for all rows. Jobs, checkpoints and totals stay. */
#include "daemon/ledger/private.h"

#include <assert.h>
#include <stdio.h>

int ledger_used_bytes(Ledger *ledger, uint64_t *ret) {
        assert(ledger);
        assert(ret);

        return ledger_number(ledger,
                        "SELECT (page_count - freelist_count) * page_size "
                        "FROM pragma_page_count, pragma_freelist_count, "
                        "pragma_page_size",
                        NO_VALUES, ret);
}

int ledger_trim_next(Ledger *ledger, uint64_t ended_before_usec, uint64_t *ret_job) {
        _cleanup_statement_ sqlite3_stmt *statement = NULL;
        int r;

        assert(ledger);
        assert(ret_job);

        r = ledger_first(ledger,
                        "SELECT id, trimmed_usec > 0 OR ended_usec < ?1 "
                        "FROM jobs INDEXED BY jobs_trimmable WHERE state = 'ended' "
                        "AND summary IS NOT NULL AND trimmable ORDER BY trimmed_usec DESC, ended_usec, "
                        "id LIMIT 1",
                        VALUES(of_capped(ended_before_usec)), &statement);
        if (r < 0)
                return r;
        *ret_job = column_u64(statement, 0);
        return sqlite3_column_int(statement, 1) ? 0 : -ENOENT;
}

/* Deletes at most *left rows. *left: how many rows this step may still delete. */
static int delete_some(Ledger *ledger, const char *sql, uint64_t job, unsigned *left) {
        int r;

        r = ledger_write(ledger, sql, VALUES(of_u64(job), of_u64(*left)));
        if (r < 0)
                return r;
        *left -= (unsigned) sqlite3_changes(ledger->db);
        return 0;
}

/* Notes that trimming need not look at this job again: all of its records are removed, or all are kept. */
static int never_again(Ledger *ledger, uint64_t job) {
        return ledger_write(ledger, "UPDATE jobs SET trimmable = 0 WHERE id = ?1", VALUES(of_u64(job)));
}

#define DELETE_FROM(table, order)                                                                           \
        "DELETE FROM " table " WHERE job = ?1 AND (life, " order ") IN (SELECT life, " order " FROM " table \
        " WHERE job = ?1 ORDER BY life, " order " LIMIT ?2)"

static int trim_rows(Ledger *ledger, uint64_t job, uint64_t now_usec, unsigned most, bool *ret_done) {
        static const char *const deletions[] = { DELETE_FROM("decisions", "round"),
                DELETE_FROM("statistics", "seq"), DELETE_FROM("records", "seq") };
        unsigned left = most;
        int r;

        for (size_t i = 0; i < sizeof(deletions) / sizeof(deletions[0]) && left > 0; i++) {
                r = delete_some(ledger, deletions[i], job, &left);
                if (r < 0)
                        return r;
        }
        if (left < most) {
                r = ledger_write(ledger,
                                "UPDATE jobs SET trimmed_usec = ?2 WHERE id = ?1 AND trimmed_usec = 0",
                                VALUES(of_u64(job), of_u64(now_usec)));
                if (r < 0)
                        return r;
        }
        *ret_done = left > 0;
        return left > 0 ? never_again(ledger, job) : 0;
}

int ledger_trim_step(Ledger *ledger, uint64_t job, uint64_t now_usec, unsigned most, bool *ret_done) {
        bool done = false;
        uint64_t ended = 0;
        uint32_t uid;
        int r;

        assert(ledger);
        assert(now_usec > 0);
        assert(most > 0);
        assert(ret_done);

        r = ledger_job_ended(ledger, job, &uid, &ended);
        if (r < 0)
                return r;
        if (ended == 0)
                return -EBUSY;
        r = ledger_begin(ledger);
        if (r < 0)
                return r;
        r = ledger_end(ledger, trim_rows(ledger, job, now_usec, most, &done));
        if (r < 0)
                return r;
        *ret_done = done;
        return 0;
}

int ledger_trim_never(Ledger *ledger, uint64_t job) {
        assert(ledger);

        return never_again(ledger, job);
}

int ledger_give_back(Ledger *ledger, unsigned most_pages) {
        uint64_t kind, before = 0, after = 0;
        char sql[64];
        int r;

        assert(ledger);

        r = ledger_number(ledger, "PRAGMA auto_vacuum", NO_VALUES, &kind);
        if (r < 0)
                return r;
        if (kind != 2)
                return 0;
        r = ledger_number(ledger, "PRAGMA freelist_count", NO_VALUES, &before);
        if (r < 0 || before == 0)
                return r;
        r = ledger_look(ledger);
        if (r < 0)
                return r;
        (void) snprintf(sql, sizeof(sql), "PRAGMA incremental_vacuum(%u)", most_pages);
        r = ledger_exec(ledger, sql);
        if (r < 0)
                return r;
        r = ledger_number(ledger, "PRAGMA freelist_count", NO_VALUES, &after);
        if (r < 0)
                return r;
        return after > 0 && after < before;
}
