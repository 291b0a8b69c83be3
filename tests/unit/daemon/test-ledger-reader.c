/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A reader sees what was committed last, and leaves a ledger and its directory as they were. */
#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/ledger/private.h"
#include "tests/unit/ledger-fixture.h"

/* The name has characters that a URI would have to escape. */
#define FILE_NAME "50% of ledgers?#1.sqlite"

static char *directory;

static void no_check(uint64_t bytes) {
        g_assert_not_reached();
}

static unsigned n_checks;

static void count_check(uint64_t bytes) {
        n_checks++;
}

static char *fresh_path(void) {
        g_autofree char *template = g_build_filename(directory, "XXXXXX", NULL);

        g_assert_nonnull(g_mkdtemp(template));
        return g_build_filename(template, FILE_NAME, NULL);
}

static void add_jobs(Ledger *ledger, unsigned n) {
        for (unsigned i = 0; i < n; i++) {
                LedgerJob job = ledger_row_running();

                job.state = (char *) "ended";
                job.result = (char *) "finished";
                assert_ok(ledger_job_add(ledger, &job));
        }
}

static char *path_with_jobs(unsigned n) {
        char *path = fresh_path();
        Ledger *ledger = NULL;

        assert_ok(ledger_open(path, &ledger));
        add_jobs(ledger, n);
        ledger_close(ledger);
        return path;
}

/* Adds jobs in a process that is then killed, so that they are in the write-ahead file alone. */
static void add_jobs_killed(const char *path, unsigned n) {
        Ledger *ledger = NULL;
        pid_t pid = fork();
        int status;

        if (pid == 0) {
                if (ledger_open(path, &ledger) < 0)
                        _exit(1);
                add_jobs(ledger, n);
                (void) kill(getpid(), SIGKILL);
        }
        g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
        g_assert_true(WIFSIGNALED(status));
}

static int64_t ask(Ledger *ledger, const char *sql) {
        uint64_t n;

        assert_ok(ledger_number(ledger, sql, NO_VALUES, &n));
        return (int64_t) n;
}

static int compare(const void *a, const void *b) {
        return g_strcmp0(*(char *const *) a, *(char *const *) b);
}

/* Describes the names, sizes, times and bytes of the ledger and of all files beside it, except the index of
 * a write-ahead file: it has the readers' locks, but no record. */
static char *look_at(const char *path) {
        g_autofree char *parent = g_path_get_dirname(path);
        g_autoptr(GDir) dir = g_dir_open(parent, 0, NULL);
        g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
        GString *all = g_string_new(NULL);
        const char *name;

        while ((name = g_dir_read_name(dir))) {
                g_autofree char *file = g_build_filename(parent, name, NULL), *bytes = NULL, *sum = NULL;
                struct stat st;
                size_t n;

                if (g_str_has_suffix(name, "-shm"))
                        continue;
                g_assert_cmpint(stat(file, &st), ==, 0);
                g_assert_true(g_file_get_contents(file, &bytes, &n, NULL));
                sum = g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *) bytes, n);
                g_ptr_array_add(lines, g_strdup_printf("%s %zu %ld.%09ld %s\n", name, n, st.st_mtim.tv_sec,
                                                       st.st_mtim.tv_nsec, sum));
        }
        g_ptr_array_sort(lines, compare);
        for (guint i = 0; i < lines->len; i++)
                g_string_append(all, lines->pdata[i]);
        return g_string_free(all, FALSE);
}

/* Two readers can read at once. They cannot write, and they leave all files as they were. */
static void test_closed(void) {
        g_autofree char *path = path_with_jobs(3), *before = look_at(path), *after = NULL;
        Ledger *ledger = NULL, *second = NULL;

        assert_ok(ledger_open_to_read(path, no_check, &ledger));
        assert_ok(ledger_open_to_read(path, no_check, &second));
        g_assert_cmpint(ask(ledger, "SELECT count(*) FROM jobs"), ==, 3);
        g_assert_cmpint(ask(second, "SELECT count(*) FROM jobs"), ==, 3);
        g_assert_cmpint(ledger_exec(ledger, "DELETE FROM jobs"), ==, -EROFS);
        ledger_close(ledger);
        ledger_close(second);
        after = look_at(path);
        g_assert_cmpstr(before, ==, after);
}

static void test_killed(void) {
        g_autofree char *path = path_with_jobs(3), *wal = g_strconcat(path, "-wal", NULL), *before = NULL,
                        *after = NULL;
        Ledger *ledger = NULL, *second = NULL;

        add_jobs_killed(path, 4);
        g_assert_true(g_file_test(wal, G_FILE_TEST_EXISTS));
        before = look_at(path);
        n_checks = 0;
        assert_ok(ledger_open_to_read(path, count_check, &ledger));
        assert_ok(ledger_open_to_read(path, count_check, &second));
        g_assert_cmpuint(n_checks, ==, 2);
        g_assert_cmpint(ask(ledger, "SELECT count(*) FROM jobs"), ==, 7);
        g_assert_cmpint(ask(second, "SELECT count(*) FROM jobs"), ==, 7);
        g_assert_cmpint(ledger_exec(ledger, "DELETE FROM jobs"), ==, -EROFS);
        ledger_close(ledger);
        ledger_close(second);
        after = look_at(path);
        g_assert_cmpstr(before, ==, after);

        /* A daemon still finds all jobs, including those that are only in the WAL. */
        assert_ok(ledger_open(path, &ledger));
        g_assert_cmpint(ask(ledger, "SELECT count(*) FROM jobs"), ==, 7);
        ledger_close(ledger);
}

static void test_others(void) {
        g_autofree char *path = path_with_jobs(1), *lock = g_strconcat(path, "-lock", NULL),
                        *missing = fresh_path();
        Ledger *ledger = NULL, *second = NULL;

        assert_ok(ledger_open(path, &ledger));
        g_assert_cmpint(ledger_open_to_read(path, no_check, &second), ==, -EBUSY);
        ledger_close(ledger);
        assert_ok(ledger_open_to_read(path, no_check, &second));
        g_assert_cmpint(ledger_open(path, &ledger), ==, -EBUSY);
        ledger_close(second);

        /* If a ledger was copied without its lock file, it can be read. */
        g_assert_cmpint(g_unlink(lock), ==, 0);
        assert_ok(ledger_open_to_read(path, no_check, &second));
        ledger_close(second);
        g_assert_false(g_file_test(lock, G_FILE_TEST_EXISTS));

        g_assert_cmpint(ledger_open_to_read(missing, no_check, &second), ==, -ENOENT);
        g_assert_false(g_file_test(missing, G_FILE_TEST_EXISTS));
        g_assert_true(g_file_set_contents(
                        missing, "no ledger, but a text that is not short at all", -1, NULL));
        g_assert_cmpint(ledger_open_to_read(missing, no_check, &second), ==, -EUCLEAN);
        g_assert_cmpint(g_unlink(missing), ==, 0);
        g_assert_cmpint(mkfifo(missing, 0600), ==, 0);
        g_assert_cmpint(ledger_open_to_read(missing, no_check, &second), ==, -EUCLEAN);
}

/* This program reads the ledger of an older one like its own, and does not change the file. */
static void test_older(void) {
        static const char *const names[] = { "ledger-1.sql", "ledger-3.sql" };

        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                g_autofree char *path = fresh_path(), *sql = NULL, *before = NULL, *after = NULL,
                                *source = g_build_filename(g_getenv("ACTORD_SOURCE") ?: ".", "tests", "data",
                                                names[i], NULL);
                Ledger *ledger = NULL;
                LedgerJob job = {};
                sqlite3 *db = NULL;

                g_assert_true(g_file_get_contents(source, &sql, NULL, NULL));
                g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
                g_assert_cmpint(sqlite3_exec(db, sql, NULL, NULL, NULL), ==, SQLITE_OK);
                sqlite3_close(db);
                before = look_at(path);
                assert_ok(ledger_open_to_read(path, no_check, &ledger));
                assert_ok(ledger_job_get(ledger, 1, &job));
                ledger_job_done(&job);
                g_assert_cmpint(ask(ledger, "PRAGMA user_version"), ==, LEDGER_SCHEMA);
                ledger_close(ledger);
                after = look_at(path);
                g_assert_cmpstr(before, ==, after);
        }
}

/* A ledger of this program's schema may lack columns of statistics, since these are added without a new
 * schema. */
static void test_fewer_statistics(void) {
        g_autofree char *path = path_with_jobs(2), *before = NULL, *after = NULL;
        Ledger *ledger = NULL;

        assert_ok(ledger_open(path, &ledger));
        assert_ok(ledger_exec(ledger, "DROP VIEW rounds"));
        assert_ok(ledger_exec(ledger, "ALTER TABLE statistics DROP COLUMN return_mean"));
        ledger_close(ledger);
        before = look_at(path);
        assert_ok(ledger_open_to_read(path, no_check, &ledger));
        g_assert_cmpint(ask(ledger, "SELECT count(return_mean) FROM rounds"), ==, 0);
        g_assert_cmpint(ask(ledger, "SELECT count(*) FROM jobs"), ==, 2);
        ledger_close(ledger);
        after = look_at(path);
        g_assert_cmpstr(before, ==, after);
}

/* If there is no memory for a copy of the ledger, the error says so, and not that the ledger is damaged. */
static void test_no_memory_to_copy(void) {
        g_autofree char *path = path_with_jobs(1);
        Ledger *ledger = NULL;

        assert_ok(ledger_open(path, &ledger));
        assert_ok(ledger_exec(ledger, "DROP VIEW rounds"));
        assert_ok(ledger_exec(ledger, "ALTER TABLE statistics DROP COLUMN return_mean"));
        assert_ok(ledger_exec(ledger, "CREATE TABLE large AS SELECT zeroblob(32 << 20)"));
        ledger_close(ledger);
        (void) sqlite3_hard_heap_limit64(sqlite3_memory_used() + (8 << 20));
        g_assert_cmpint(ledger_open_to_read(path, no_check, &ledger), ==, -ENOMEM);
        (void) sqlite3_hard_heap_limit64(0);
        assert_ok(ledger_open_to_read(path, no_check, &ledger));
        ledger_close(ledger);
}

int main(int argc, char **argv) {
        g_autofree char *command = NULL;
        int r;

        g_test_init(&argc, &argv, NULL);
        directory = g_dir_make_tmp("test-ledger-reader-XXXXXX", NULL);
        g_test_add_func("/ledger-reader/closed", test_closed);
        g_test_add_func("/ledger-reader/killed", test_killed);
        g_test_add_func("/ledger-reader/others", test_others);
        g_test_add_func("/ledger-reader/older", test_older);
        g_test_add_func("/ledger-reader/fewer-statistics", test_fewer_statistics);
        g_test_add_func("/ledger-reader/no-memory-to-copy", test_no_memory_to_copy);
        r = g_test_run();
        command = g_strdup_printf("rm -rf '%s'", directory);
        g_spawn_command_line_sync(command, NULL, NULL, NULL, NULL);
        return r;
}
