/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The jobs that a daemon finds in its ledger at its start. */
#include "daemon/manager.h"

#include <sqlite3.h>
#include <stdlib.h>
#include "daemon/job.h"
#include "daemon/ledger/private.h"
#include "tests/unit/ledger-fixture.h"

#define COMMENT_BYTES (192u << 10)

static const char job_text[] = "[Job]\nEnvironment=CartPole-v1\nDescription=a row\n";
static const char sheet_text[] = "[Sheet]\nName=aws-lambda-x86\nDate=2026-01-01\nSource=none\nCurrency=EUR\n"
                                 "Description=d\n"
                                 "[Execution]\nGBSecond=0.01\n";

/* A daemon without a bus: its jobs and its ledger. */
static Manager *manager_fixture(void) {
        Manager *manager = g_new0(Manager, 1);

        manager->context.mode = DAEMON_RUN;
        manager->context.jobs_fd = manager->context.sockets_fd = -EBADF;
        manager->context.jobs.all = g_ptr_array_new();
        assert_ok(ledger_open(":memory:", &manager->context.ledger));
        return manager;
}

static void manager_unfixture(Manager *manager) {
        JOBS_FOREACH (job, &manager->context.jobs)
                (void) job_free(job);
        g_ptr_array_unref(manager->context.jobs.all);
        ledger_close(manager->context.ledger);
        g_free(manager);
}

/* Adds a job with this text. */
static uint64_t add_row(Manager *manager, const char *text, const char *state) {
        LedgerJob row = {
                .life = 1,
                .uid = 1000,
                .submitted_usec = 1,
                .state = strdup(state),
                .result = strdup(""),
                .text = strdup(text),
                .file_name = strdup("test.conf"),
                .overrides = strdup(""),
                .sheet = strdup(sheet_text),
                .files = strdup(""),
        };
        uint64_t id;

        assert_ok(ledger_job_add(manager->context.ledger, &row));
        id = row.id;
        ledger_job_done(&row);
        return id;
}

static void assert_row(Manager *manager, uint64_t id, const char *state, const char *result) {
        LedgerJob row = {};

        assert_ok(ledger_job_get(manager->context.ledger, id, &row));
        g_assert_cmpstr(row.state, ==, state);
        g_assert_cmpstr(row.result, ==, result);
        ledger_job_done(&row);
}

/* A job whose text cannot be parsed fails; the other jobs are loaded. */
static void test_unreadable(void) {
        Manager *manager = manager_fixture();
        uint64_t first = add_row(manager, job_text, "running");
        uint64_t broken = add_row(manager, "[Job\n", "running");
        uint64_t last = add_row(manager, job_text, "queued");

        assert_ok(manager_load_jobs(manager));
        g_assert_cmpuint(manager->context.jobs.all->len, ==, 2);
        g_assert_nonnull(jobs_find(&manager->context.jobs, first));
        g_assert_nonnull(jobs_find(&manager->context.jobs, last));
        assert_row(manager, first, "running", "");
        assert_row(manager, broken, "ended", "failed");
        manager_unfixture(manager);
}

/* If memory runs out while a job is read, the daemon does not start, and the job does not fail. The next
 * daemon loads it. */
static void test_no_memory(void) {
        g_autofree char *comment = g_strnfill(COMMENT_BYTES, 'x'),
                        *text = g_strconcat(job_text, "# ", comment, "\n", NULL);
        Manager *manager = manager_fixture();
        uint64_t id;

        id = add_row(manager, text, "running");
        (void) sqlite3_hard_heap_limit64(sqlite3_memory_used() + COMMENT_BYTES / 2);
        g_assert_cmpint(manager_load_jobs(manager), ==, -ENOMEM);
        (void) sqlite3_hard_heap_limit64(0);
        assert_row(manager, id, "running", "");

        assert_ok(manager_load_jobs(manager));
        g_assert_nonnull(jobs_find(&manager->context.jobs, id));
        manager_unfixture(manager);
}

/* If a job whose text cannot be parsed cannot be marked as failed either, the daemon does not start. The
 * next daemon marks it. */
static void test_unmarked(void) {
        Manager *manager = manager_fixture();
        uint64_t broken = add_row(manager, "[Job\n", "running");
        sqlite3 *db = manager->context.ledger->db;

        g_assert_cmpint(sqlite3_exec(db, "PRAGMA query_only = 1", NULL, NULL, NULL), ==, SQLITE_OK);
        g_assert_cmpint(manager_load_jobs(manager), ==, -EROFS);
        g_assert_cmpint(sqlite3_exec(db, "PRAGMA query_only = 0", NULL, NULL, NULL), ==, SQLITE_OK);
        assert_row(manager, broken, "running", "");

        assert_ok(manager_load_jobs(manager));
        assert_row(manager, broken, "ended", "failed");
        manager_unfixture(manager);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/manager/unreadable", test_unreadable);
        g_test_add_func("/manager/no-memory", test_no_memory);
        g_test_add_func("/manager/unmarked", test_unmarked);
        return g_test_run();
}
