/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The jobs that a daemon finds in its ledger at its start. */
#include "daemon/manager.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include "daemon/job-turn.h"
#include "daemon/job.h"
#include "daemon/ledger/private.h"
#include "tests/unit/manager-fixture.h"

#define COMMENT_BYTES (192u << 10)

/* Adds a job with this text. */
static uint64_t add_row(Manager *manager, const char *text, const char *state) {
        LedgerJob row = manager_row(state, "");

        free(row.text);
        row.text = strdup(text);
        return manager_add_row(manager, &row);
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
        uint64_t first = add_row(manager, MANAGER_JOB_TEXT, "running");
        uint64_t broken = add_row(manager, "[Job\n", "running");
        uint64_t last = add_row(manager, MANAGER_JOB_TEXT, "queued");

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
                        *text = g_strconcat(MANAGER_JOB_TEXT, "# ", comment, "\n", NULL);
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

/* A change that could not be written is written with the job's end. After that the job has nothing unsaved,
 * so it can leave the list of jobs. */
static void test_unsaved_at_end(void) {
        Manager *manager = manager_fixture();
        uint64_t id = add_row(manager, MANAGER_JOB_TEXT, "running");
        sqlite3 *db = manager->context.ledger->db;
        Job *job;

        manager->context.state_directory = (char *) "/nowhere";
        assert_ok(manager_load_jobs(manager));
        job = jobs_find(&manager->context.jobs, id);
        g_assert_nonnull(job);
        g_assert_cmpint(sqlite3_exec(db, "PRAGMA query_only = 1", NULL, NULL, NULL), ==, SQLITE_OK);
        g_assert_cmpint(job_save(job), ==, -EROFS);
        g_assert_true(job->unsaved);
        g_assert_cmpint(sqlite3_exec(db, "PRAGMA query_only = 0", NULL, NULL, NULL), ==, SQLITE_OK);

        job->end.noted = true;
        assert_ok(job_save(job));
        g_assert_false(job->unsaved);
        manager_unfixture(manager);
}

/* A job in the queue that has run before is not ended while its records cannot be read, since its bill would
 * be zero. */
static void test_stop_without_memory(void) {
        Manager *manager = manager_fixture();
        uint64_t id = add_row(manager, MANAGER_JOB_TEXT, "queued");
        Job *job;

        manager->context.state_directory = (char *) "/nowhere";
        assert_ok(manager_load_jobs(manager));
        job = jobs_find(&manager->context.jobs, id);
        g_assert_nonnull(job);
        (void) sqlite3_hard_heap_limit64(sqlite3_memory_used());
        g_assert_cmpint(job_stop(job, PLAN_END_INTERRUPTED, "a test asks for it"), ==, -ENOMEM);
        (void) sqlite3_hard_heap_limit64(0);
        g_assert_cmpint(job->state, ==, JOB_QUEUED);
        g_assert_cmpuint(job->row.end_wanted, ==, PLAN_END_NOT);

        assert_ok(job_stop(job, PLAN_END_INTERRUPTED, "a test asks for it"));
        g_assert_true(job->end.durable);
        assert_row(manager, id, "ended", "interrupted");
        manager_unfixture(manager);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/manager/unreadable", test_unreadable);
        g_test_add_func("/manager/no-memory", test_no_memory);
        g_test_add_func("/manager/unmarked", test_unmarked);
        g_test_add_func("/manager/unsaved-at-end", test_unsaved_at_end);
        g_test_add_func("/manager/stop-without-memory", test_stop_without_memory);
        return g_test_run();
}
