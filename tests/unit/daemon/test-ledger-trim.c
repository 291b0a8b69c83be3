/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records of ended jobs are removed in steps. If the ledger is opened again in the middle, the removal goes
 * on. The job's result stays. */
#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "daemon/ledger/private.h"
#include "tests/unit/ledger-fixture.h"

#define N_RECORDS 300u

static int64_t ask(Ledger *ledger, const char *sql) {
        _cleanup_statement_ sqlite3_stmt *statement = NULL;

        assert_ok(ledger_prepare(ledger, sql, &statement));
        g_assert_cmpint(sqlite3_step(statement), ==, SQLITE_ROW);
        return sqlite3_column_int64(statement, 0);
}

/* Every third record closes a round, and comes with a decision. */
static void records_add(Ledger *ledger, uint64_t job, unsigned n) {
        for (uint64_t seq = 1; seq <= n; seq++) {
                Record record = {
                        .life = 1,
                        .seq = seq,
                        .kind = seq % 3 == 0 ? RECORD_ROUND : RECORD_ROLLOUT,
                        .round = seq / 3,
                        .actor = UINT32_MAX,
                };
                LedgerDecision decision = { .life = 1, .round = seq / 3, .id = seq / 3, .n_actors = 1 };

#define X(name, unit) record.statistics.name = NAN;
                STATISTICS(X)
#undef X
                assert_ok(ledger_append(ledger, job, &record));
                if (seq % 3 == 0)
                        assert_ok(ledger_decision_append(ledger, job, &decision));
        }
        assert_ok(ledger_commit(ledger));
}

static void job_end(Ledger *ledger, uint64_t job, uint64_t usec) {
        LedgerEnd end = {
                .row = { .id = job,
                                .life = 1,
                                .uid = 1000,
                                .ended_usec = usec,
                                .result = (char *) "finished",
                                .summary = (char *) "round=100\n" },
                .currency = (char *) "USD",
                .sheet_name = (char *) "s",
                .full_nano = 7,
                .return_mean = 5,
        };
        LedgerCheckpoint checkpoint = { .job = job, .life = 1, .seq = 3, .round = 1, .name = "1" };

        assert_ok(ledger_checkpoint_append(ledger, &checkpoint));
        assert_ok(ledger_end_append(ledger, &end));
        assert_ok(ledger_commit(ledger));
}

static uint64_t ended_job(Ledger *ledger, uint64_t usec, unsigned n_records) {
        uint64_t job = ledger_add_running(ledger);

        records_add(ledger, job, n_records);
        job_end(ledger, job, usec);
        return job;
}

static int64_t rows_of(Ledger *ledger, uint64_t job) {
        g_autofree char *sql = g_strdup_printf(
                        "SELECT (SELECT count(*) FROM records WHERE job = %1$" G_GUINT64_FORMAT
                        ") + (SELECT count(*) FROM statistics WHERE job = %1$" G_GUINT64_FORMAT
                        ") + (SELECT count(*) FROM decisions WHERE job = %1$" G_GUINT64_FORMAT ")",
                        job);

        return ask(ledger, sql);
}

/* Trims in steps, with the ledger opened anew for each, as after a kill. */
static unsigned trim_all(Ledger **ledger, const char *path, uint64_t job, unsigned most) {
        int64_t before = rows_of(*ledger, job);
        unsigned n = 0;
        bool done = false;

        for (; !done; n++) {
                uint64_t next = 0;
                int64_t left;

                assert_ok(ledger_trim_next(*ledger, n == 0 ? UINT64_MAX : 0, &next));
                g_assert_cmpuint(next, ==, job);
                assert_ok(ledger_trim_step(*ledger, job, 1000 + n, most, &done));
                left = rows_of(*ledger, job);
                g_assert_cmpint(before - left, <=, most);
                g_assert_true(before > left || done);
                before = left;
                *ledger = ledger_close(*ledger);
                assert_ok(ledger_open(path, ledger));
                g_assert_cmpint(ask(*ledger, "SELECT max(trimmed_usec) FROM jobs"), ==, 1000);
        }
        g_assert_cmpint(before, ==, 0);
        return n;
}

static void directory_remove(const char *directory) {
        static const char *const names[] = { "l", "l-wal", "l-shm", "l-lock" };

        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                g_autofree char *path = g_build_filename(directory, names[i], NULL);

                (void) g_remove(path);
        }
        g_assert_cmpint(g_rmdir(directory), ==, 0);
}

/* SQLite writes commits to a file beside the ledger first. This file must stay small, since the disk may be
 * small. */
static void test_journal(void) {
        g_autofree char *directory = g_dir_make_tmp("actord-trim-XXXXXX", NULL),
                        *path = g_build_filename(directory, "l", NULL),
                        *journal = g_strconcat(path, "-wal", NULL);
        enum { N_COMMITS = 400, JOURNAL_MOST = 2 << 20 };
        Ledger *ledger = NULL;
        struct stat st;

        assert_ok(ledger_open(path, &ledger));
        for (unsigned i = 0; i < N_COMMITS; i++)
                records_add(ledger, ledger_add_running(ledger), 3);
        g_assert_cmpint(stat(journal, &st), ==, 0);
        g_assert_cmpint(st.st_size, >, 0);
        g_assert_cmpint(st.st_size, <=, JOURNAL_MOST);
        ledger_close(ledger);
        directory_remove(directory);
}

static void test_steps(void) {
        g_autofree char *directory = g_dir_make_tmp("actord-trim-XXXXXX", NULL),
                        *path = g_build_filename(directory, "l", NULL);
        uint64_t first, second, running, next = 0;
        Ledger *ledger = NULL;
        LedgerJob row = {};
        bool done;

        assert_ok(ledger_open(path, &ledger));
        g_assert_cmpint(ask(ledger, "PRAGMA auto_vacuum"), ==, 2);
        running = ledger_add_running(ledger);
        records_add(ledger, running, 30);
        second = ended_job(ledger, 200, N_RECORDS);
        first = ended_job(ledger, 100, N_RECORDS);

        g_assert_cmpint(ledger_trim_next(ledger, 100, &next), ==, -ENOENT);
        assert_ok(ledger_trim_next(ledger, 101, &next));
        g_assert_cmpuint(next, ==, first);
        /* A job that has not ended is not touched. */
        g_assert_cmpint(ledger_trim_step(ledger, running, 1, 10, &done), ==, -EBUSY);
        g_assert_cmpuint(trim_all(&ledger, path, first, 64), >, N_RECORDS / 64);

        g_assert_cmpint(rows_of(ledger, running), ==, 30 + 20);
        g_assert_cmpint(rows_of(ledger, second), ==, N_RECORDS + N_RECORDS / 3 * 2);
        g_assert_cmpint(ask(ledger, "SELECT count(*) FROM checkpoints"), ==, 2);
        g_assert_cmpint(ask(ledger, "SELECT sum(n_jobs) FROM totals WHERE full_nano = 14"), ==, 2);
        assert_ok(ledger_job_get(ledger, first, &row));
        g_assert_cmpstr(row.summary, ==, "round=100\n");
        g_assert_cmpuint(row.trimmed_usec, ==, 1000);
        ledger_job_done(&row);

        g_assert_cmpint(ledger_trim_next(ledger, 200, &next), ==, -ENOENT);
        assert_ok(ledger_trim_next(ledger, 201, &next));
        g_assert_cmpuint(next, ==, second);
        assert_ok(ledger_trim_never(ledger, second));
        g_assert_cmpint(ledger_trim_next(ledger, UINT64_MAX, &next), ==, -ENOENT);
        ledger_close(ledger);
        directory_remove(directory);
}

/* A job without a summary keeps its records: they are the only account of it. */
static void test_no_summary(void) {
        uint64_t job, next = 0;
        Ledger *ledger = NULL;

        assert_ok(ledger_open(":memory:", &ledger));
        job = ended_job(ledger, 100, 30);
        assert_ok(ledger_exec(ledger, "UPDATE jobs SET summary = NULL"));
        g_assert_cmpint(ledger_trim_next(ledger, UINT64_MAX, &next), ==, -ENOENT);
        g_assert_cmpint(rows_of(ledger, job), ==, 30 + 20);
        ledger_close(ledger);
}

/* A job that never ran had no records, so its row does not say that records were removed. */
static void test_nothing(void) {
        uint64_t job, next = 0;
        Ledger *ledger = NULL;
        bool done = false;

        assert_ok(ledger_open(":memory:", &ledger));
        job = ended_job(ledger, 100, 0);
        assert_ok(ledger_trim_step(ledger, job, 1, 10, &done));
        g_assert_true(done);
        g_assert_cmpint(ask(ledger, "SELECT trimmed_usec FROM jobs"), ==, 0);
        g_assert_cmpint(ledger_trim_next(ledger, UINT64_MAX, &next), ==, -ENOENT);
        ledger_close(ledger);
}

/* Removed records free pages of the file at once. ledger_give_back() shortens the file, a few pages at a
 * time. */
static void test_size(void) {
        uint64_t job, before = 0, after = 0;
        Ledger *ledger = NULL;
        bool done = false;
        int64_t pages;
        int r = 1;

        assert_ok(ledger_open(":memory:", &ledger));
        job = ended_job(ledger, 100, 10 * N_RECORDS);
        assert_ok(ledger_used_bytes(ledger, &before));
        while (!done)
                assert_ok(ledger_trim_step(ledger, job, 1, 512, &done));
        assert_ok(ledger_used_bytes(ledger, &after));
        g_assert_cmpuint(after, <, before / 2);

        while (r > 0) {
                pages = ask(ledger, "PRAGMA page_count");
                r = ledger_give_back(ledger, 16);
                assert_ok(r);
                g_assert_cmpint(pages - ask(ledger, "PRAGMA page_count"), <=, 16 + 1);
        }
        g_assert_cmpint(ask(ledger, "PRAGMA freelist_count"), ==, 0);
        g_assert_cmpint(ask(ledger, "PRAGMA page_count") * ask(ledger, "PRAGMA page_size"), <=, after);
        ledger_close(ledger);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/ledger-trim/journal", test_journal);
        g_test_add_func("/ledger-trim/steps", test_steps);
        g_test_add_func("/ledger-trim/no-summary", test_no_summary);
        g_test_add_func("/ledger-trim/nothing", test_nothing);
        g_test_add_func("/ledger-trim/size", test_size);
        return g_test_run();
}
