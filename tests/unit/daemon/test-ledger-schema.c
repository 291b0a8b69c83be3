/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Ledgers that older programs wrote. */
#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/ledger/private.h"
#include "tests/unit/ledger-fixture.h"

static int record_collect(const Record *record, void *userdata) {
        g_array_append_vals(userdata, record, 1);
        return 0;
}

static GArray *records_read(Ledger *ledger, uint64_t job) {
        GArray *records = g_array_new(FALSE, FALSE, sizeof(Record));

        assert_ok(ledger_records_some(
                        ledger, job, &(LedgerPosition){}, UINT32_MAX, record_collect, records));
        return records;
}

static int64_t ask(Ledger *ledger, const char *sql) {
        _cleanup_statement_ sqlite3_stmt *statement = NULL;

        assert_ok(ledger_prepare(ledger, sql, &statement));
        g_assert_cmpint(sqlite3_step(statement), ==, SQLITE_ROW);
        return sqlite3_column_int64(statement, 0);
}

/* The file that an older program wrote, as tests/data has it. */
static char *older_file(const char *directory, const char *name) {
        g_autofree char *path = g_build_filename(directory, "ledger.sqlite", NULL), *sql = NULL,
                        *source = g_build_filename(
                                        g_getenv("ACTORD_SOURCE") ?: ".", "tests", "data", name, NULL);
        sqlite3 *db = NULL;

        g_assert_true(g_file_get_contents(source, &sql, NULL, NULL));
        g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
        g_assert_cmpint(sqlite3_exec(db, sql, NULL, NULL, NULL), ==, SQLITE_OK);
        sqlite3_close(db);
        return g_steal_pointer(&path);
}

static void remove_ledger(const char *path, const char *directory) {
        (void) g_unlink(path);
        for (const char *const *suffix = (const char *const[]){ "-wal", "-shm", "-lock", NULL }; *suffix;
                        suffix++) {
                g_autofree char *beside = g_strconcat(path, *suffix, NULL);

                (void) g_unlink(beside);
        }
        (void) g_rmdir(directory);
}

/* A file that an older program wrote lacks tables and columns that came later. It can be opened, keeps its
 * content, and accepts records with the newest statistics. */
static void test_older_file(void) {
        g_autofree char *directory = g_dir_make_tmp("actord-ledger-XXXXXX", NULL),
                        *path = older_file(directory, "ledger-1.sql");
        LedgerDecision decision = { .life = 2, .round = 2, .id = 2, .record = 1, .n_actors = 3 },
                       *decisions = NULL;
        Record record = { .life = 2, .seq = 1, .round = 3, .kind = RECORD_ROUND, .actor = UINT32_MAX };
        g_autoptr(GArray) records = NULL;
        Ledger *ledger = NULL;
        sqlite3 *db = NULL;
        size_t n;

        g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
        g_assert_cmpint(sqlite3_exec(db, "SELECT noise_scale FROM statistics", NULL, NULL, NULL), ==,
                        SQLITE_ERROR);
        sqlite3_close(db);

        /* The ledger is opened twice: the second time there is no column left to add. */
        for (int i = 0; i < 2; i++) {
                ledger = ledger_close(ledger);
                assert_ok(ledger_open(path, &ledger));
        }
        records = records_read(ledger, 1);
        g_assert_cmpuint(records->len, ==, 2);
        g_assert_cmpfloat(g_array_index(records, Record, 1).statistics.return_round, ==, 20);
        g_assert_true(isnan(g_array_index(records, Record, 1).statistics.noise_scale));
        g_clear_pointer(&records, g_array_unref);

        record.statistics.noise_scale = 70;
        record.statistics.curvature_max = 5;
        record.statistics.curvature_products = 16384;
        assert_ok(ledger_append(ledger, 1, &record));
        assert_ok(ledger_decision_append(ledger, 1, &decision));
        assert_ok(ledger_commit(ledger));
        records = records_read(ledger, 1);
        g_assert_cmpfloat(g_array_index(records, Record, 2).statistics.noise_scale, ==, 70);
        g_assert_cmpint(ask(ledger, "SELECT noise_scale + curvature_max FROM rounds WHERE life = 2"), ==,
                        75);
        g_assert_cmpint(ask(ledger, "SELECT curvature_products FROM rounds WHERE life = 2"), ==, 16384);
        g_assert_cmpint(ask(ledger, "SELECT count(*) FROM rounds WHERE noise_scale IS NULL"), ==, 2);
        assert_ok(ledger_decisions(ledger, 1, 0, 100, &decisions, &n));
        free(decisions);
        g_assert_cmpint(ask(ledger, "SELECT count(*) FROM jobs WHERE distribution IS NULL AND learners = 0"),
                        ==, 1);
        ledger_close(ledger);

        remove_ledger(path, directory);
}

/* A ledger of schema 3 keeps its content; its jobs are not summed or trimmed yet. */
static void test_schema_3(void) {
        g_autofree char *directory = g_dir_make_tmp("actord-ledger-XXXXXX", NULL),
                        *path = older_file(directory, "ledger-3.sql");
        g_autoptr(GArray) records = NULL;
        Ledger *ledger;

        assert_ok(ledger_open(path, &ledger));
        g_assert_cmpint(ask(ledger, "PRAGMA user_version"), ==, LEDGER_SCHEMA);
        records = records_read(ledger, 1);
        g_assert_cmpuint(records->len, ==, 4);
        g_assert_cmpint(ask(ledger, "SELECT count(*) FROM rounds"), ==, 2);
        g_assert_cmpint(ask(ledger, "SELECT count(*) FROM jobs WHERE state = 'ended' AND tag = '' "
                                    "AND summary IS NULL AND trimmed_usec = 0"),
                        ==, 1);
        g_assert_cmpint(ask(ledger, "SELECT count(*) FROM totals"), ==, 0);
        g_assert_cmpint(ask(ledger, "SELECT count(*) FROM files"), ==, 0);
        ledger_close(ledger);

        remove_ledger(path, directory);
}

/* If the ledger's file is cut short while it is open, the next commit notices this, and its records stay
 * queued. */
static void test_cut_short(void) {
        g_autofree char *directory = g_dir_make_tmp("actord-ledger-XXXXXX", NULL),
                        *path = older_file(directory, "ledger-3.sql"), *whole = NULL;
        Record record = { .life = 1, .seq = 100, .round = 3, .kind = RECORD_ROUND, .actor = UINT32_MAX };
        Ledger *ledger = NULL;
        gsize n;

        for (int i = 0; i < 2; i++) {
                ledger = ledger_close(ledger);
                assert_ok(ledger_open(path, &ledger));
        }
        g_assert_true(g_file_get_contents(path, &whole, &n, NULL));
        g_assert_cmpint(truncate(path, (off_t) n / 2), ==, 0);
        assert_ok(ledger_append(ledger, 1, &record));
        g_assert_cmpint(ledger_commit(ledger), ==, -EUCLEAN);
        g_assert_cmpuint(ledger_n_pending(ledger), ==, 1);
        g_assert_nonnull(strstr(ledger_error_words(-EUCLEAN), "cut short"));
        ledger_close(ledger);

        remove_ledger(path, directory);
}

/* Every table, view, index and trigger of a ledger, and each column with its place in its table. The places
 * of statistics may differ, so they are left out: their columns are added without a new schema. */
static char *shape_of(Ledger *ledger) {
        _cleanup_statement_ sqlite3_stmt *statement = NULL;
        GString *shape = g_string_new(NULL);

        assert_ok(ledger_prepare(ledger,
                        "SELECT s.type || ' ' || s.name || ' ' || coalesce(c.name || ' ' || c.type || ' ' "
                        "|| c.\"notnull\" || ' ' || coalesce(c.dflt_value, '-') || ' ' || c.pk || ' ' "
                        "|| iif(s.name IN ('statistics', 'rounds'), '-', c.cid), '') "
                        "FROM sqlite_schema s LEFT JOIN pragma_table_xinfo(s.name) c "
                        "ORDER BY s.name, c.name",
                        &statement));
        while (sqlite3_step(statement) == SQLITE_ROW)
                g_string_append_printf(shape, "%s\n", column_string(statement, 0));
        return g_string_free(shape, FALSE);
}

/* A new ledger has the same tables as one that was upgraded step by step. It is made under another name
 * first, so an unfinished file never has the ledger's name. */
static void test_new_file(void) {
        g_autofree char *directory = g_dir_make_tmp("actord-ledger-XXXXXX", NULL),
                        *path = older_file(directory, "ledger-1.sql"), *upgraded = NULL, *created = NULL,
                        *beside = g_strconcat(path, "-new", NULL);
        Ledger *ledger = NULL;

        assert_ok(ledger_open(path, &ledger));
        upgraded = shape_of(ledger);
        ledger_close(ledger);
        g_assert_cmpint(g_unlink(path), ==, 0);

        /* A daemon that was killed while it made the ledger has left an unfinished file. */
        g_assert_true(g_file_set_contents(beside, "part", -1, NULL));
        assert_ok(ledger_open(path, &ledger));
        created = shape_of(ledger);
        g_assert_nonnull(strstr(created, "\ntable jobs alerts INTEGER 1 0 0 37\n"));
        g_assert_true(strcmp(created, upgraded) == 0); /* too long to print */
        g_assert_cmpint(ask(ledger, "PRAGMA auto_vacuum"), ==, 2);
        g_assert_cmpint(ask(ledger, "SELECT journal_mode = 'wal' FROM pragma_journal_mode"), ==, 1);
        g_assert_cmpint(ask(ledger, "SELECT integrity_check = 'ok' FROM pragma_integrity_check"), ==, 1);
        g_assert_cmpint(ask(ledger, "PRAGMA user_version"), ==, LEDGER_SCHEMA);
        g_assert_cmpint(ask(ledger, "SELECT count(*) > 0 FROM kinds"), ==, 1);
        g_assert_false(g_file_test(beside, G_FILE_TEST_EXISTS));
        ledger_close(ledger);

        remove_ledger(path, directory);
}

/* If only the write-ahead file of a removed ledger is left, it does not become part of the new one. */
static void test_old_wal(void) {
        g_autofree char *directory = g_dir_make_tmp("actord-ledger-XXXXXX", NULL),
                        *path = g_build_filename(directory, "ledger.sqlite", NULL),
                        *wal = g_strconcat(path, "-wal", NULL), *pages = NULL;
        Ledger *ledger = NULL;
        gsize n;

        assert_ok(ledger_open(path, &ledger));
        assert_ok(ledger_exec(
                        ledger, "INSERT INTO totals VALUES (1, 'month', '', 'USD', 's', 1, 1, 1, 1, 1)"));
        g_assert_true(g_file_get_contents(wal, &pages, &n, NULL));
        g_assert_cmpuint(n, >, 0);
        ledger_close(ledger);

        g_assert_cmpint(g_unlink(path), ==, 0);
        g_assert_true(g_file_set_contents(wal, pages, (gssize) n, NULL));
        assert_ok(ledger_open(path, &ledger));
        g_assert_cmpint(ask(ledger, "SELECT count(*) FROM totals"), ==, 0);
        ledger_close(ledger);

        remove_ledger(path, directory);
}

/* SQLite would wait for ever if one of the files that it keeps beside the ledger is a pipe. */
static void test_pipe(void) {
        g_autofree char *directory = g_dir_make_tmp("actord-ledger-XXXXXX", NULL),
                        *path = older_file(directory, "ledger-3.sql"),
                        *journal = g_strconcat(path, "-journal", NULL);
        Ledger *ledger = NULL;

        (void) g_unlink(journal);
        g_assert_cmpint(mkfifo(journal, 0600), ==, 0);
        g_assert_cmpint(ledger_open(path, &ledger), ==, -EUCLEAN);

        g_assert_cmpint(g_unlink(journal), ==, 0);
        remove_ledger(path, directory);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/ledger/schema/older-file", test_older_file);
        g_test_add_func("/ledger/schema/3", test_schema_3);
        g_test_add_func("/ledger/schema/cut-short", test_cut_short);
        g_test_add_func("/ledger/schema/new-file", test_new_file);
        g_test_add_func("/ledger/schema/old-wal", test_old_wal);
        g_test_add_func("/ledger/schema/pipe", test_pipe);
        return g_test_run();
}
