/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The row of a job after its end. The ledger gets the end from the daemon, or reads it from a file of rows
 * that could not be committed (ledger_rest_write()). */
#include <glib.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "tests/unit/ledger-fixture.h"

static LedgerJob row_fixture(void) {
        LedgerJob row = ledger_row_running();

        row.life = 3;
        row.n_preempted = 2;
        row.paused_usec = 7;
        return row;
}

static uint64_t add_job(Ledger *ledger) {
        LedgerJob row = row_fixture();

        assert_ok(ledger_job_add(ledger, &row));
        assert_ok(ledger_job_update(ledger, &row));
        return row.id;
}

static void append_end(Ledger *ledger, uint64_t job, uint64_t nano) {
        LedgerEnd end = { .row = row_fixture(),
                .currency = (char *) "EUR",
                .sheet_name = (char *) "local",
                .full_nano = nano,
                .paper_nano = nano,
                .n_env_steps = 4096,
                .round = 8,
                .return_mean = 12.5,
                .cost_full = 0.25 };

        end.row.id = job;
        end.row.result = (char *) "finished";
        end.row.summary = (char *) "round=8\n";
        assert_ok(ledger_end_append(ledger, &end));
}

/* The row of an ended job keeps how often the job went back to the queue (n_preempted). */
static void test_row(void) {
        LedgerJob row;
        Ledger *ledger;
        uint64_t job;

        assert_ok(ledger_open(":memory:", &ledger));
        job = add_job(ledger);
        append_end(ledger, job, 1);
        assert_ok(ledger_commit(ledger));
        assert_ok(ledger_job_get(ledger, job, &row));
        g_assert_cmpstr(row.state, ==, "ended");
        g_assert_cmpuint(row.n_preempted, ==, 2);
        g_assert_cmpuint(row.paused_usec, ==, 7);
        ledger_job_done(&row);
        ledger_close(ledger);
}

static int keep_total(const LedgerTotal *total, void *userdata) {
        LedgerTotal *all = userdata;

        all->n_jobs += total->n_jobs;
        all->full_nano += total->full_nano;
        return 0;
}

/* Whatever jobs cost, their totals can be written: a sum beyond SQLite's integers would block the ledger
 * for good. */
static void test_totals(void) {
        LedgerTotal all = {};
        Ledger *ledger;

        assert_ok(ledger_open(":memory:", &ledger));
        for (unsigned i = 0; i < 3; i++) {
                append_end(ledger, add_job(ledger), i == 1 ? UINT64_MAX : INT64_MAX - 1);
                assert_ok(ledger_commit(ledger));
        }
        assert_ok(ledger_totals_foreach(ledger, 1000, keep_total, &all));
        g_assert_cmpuint(all.n_jobs, ==, 3);
        g_assert_cmpuint(all.full_nano, ==, INT64_MAX);
        ledger_close(ledger);
}

/* A commit without rows succeeds on a full disk, too. ledger_probe() notices that the disk is full. */
static void test_probe(void) {
        g_autofree char *directory = g_dir_make_tmp("test-ledger-end-XXXXXX", NULL),
                        *path = g_build_filename(directory, "ledger.sqlite", NULL),
                        *command = g_strdup_printf("rm -rf '%s'", directory);
        struct rlimit limit, low;
        Ledger *ledger;

        (void) signal(SIGXFSZ, SIG_IGN);
        g_assert_cmpint(getrlimit(RLIMIT_FSIZE, &limit), ==, 0);
        low = (struct rlimit){ 4096, limit.rlim_max };
        assert_ok(ledger_open(path, &ledger));
        (void) add_job(ledger);
        assert_ok(ledger_probe(ledger));
        g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &low), ==, 0);
        assert_ok(ledger_commit(ledger));
        g_assert_cmpint(ledger_probe(ledger), <, 0);
        g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &limit), ==, 0);
        assert_ok(ledger_probe(ledger));
        ledger_close(ledger);
        g_assert_cmpint(system(command), ==, 0);
}

static int keep_listed(const LedgerListed *listed, void *userdata) {
        LedgerListed *copy = userdata;

        *copy = *listed;
        return 0;
}

/* A list shows the same figures for a recovered run as for any other run. */
static void test_rest(void) {
        g_autofree char *directory = g_dir_make_tmp("test-ledger-end-XXXXXX", NULL),
                        *path = g_build_filename(directory, "ledger.sqlite", NULL),
                        *rest_path = g_build_filename(directory, "rest.sqlite", NULL),
                        *command = g_strdup_printf("rm -rf '%s'", directory);
        LedgerJob row = row_fixture();
        LedgerListed listed = {};
        Ledger *ledger, *rest;
        uint64_t n;

        assert_ok(ledger_open(path, &ledger));
        row.id = add_job(ledger);
        append_end(ledger, row.id, 1);
        assert_ok(ledger_open(rest_path, &rest));
        assert_ok(ledger_job_put(rest, &row));
        assert_ok(ledger_rest_write(ledger, rest));
        ledger_close(rest);
        ledger_close(ledger);

        assert_ok(ledger_open(path, &ledger));
        assert_ok(ledger_rest_take(ledger, rest_path, &n));
        assert_ok(ledger_list(ledger, 0, keep_listed, &listed));
        g_assert_cmpuint(listed.round, ==, 8);
        g_assert_cmpuint(listed.n_env_steps, ==, 4096);
        g_assert_cmpfloat(listed.return_mean, ==, 12.5);
        g_assert_cmpfloat(listed.cost_full, ==, 0.25);
        ledger_close(ledger);
        g_assert_cmpint(system(command), ==, 0);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/ledger-end/row", test_row);
        g_test_add_func("/ledger-end/totals", test_totals);
        g_test_add_func("/ledger-end/probe", test_probe);
        g_test_add_func("/ledger-end/rest", test_rest);
        return g_test_run();
}
