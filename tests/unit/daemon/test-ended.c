/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Ended jobs as rows of the ledger: how many of them stay in memory, and which rows a list reads. */
#include "daemon/ended.h"

#include <string.h>
#include "daemon/job.h"
#include "daemon/older.h"
#include "tests/unit/manager-fixture.h"

#define N_JOBS 60u

/* Adds a job. `described`: with the columns that lists need, which an older actord did not fill. */
static uint64_t add_row(Manager *manager, const char *state, bool described) {
        LedgerJob row = manager_row(state, "finished");

        if (described) {
                row.environment = strdup("CartPole-v1");
                row.description = strdup("a row");
                row.currency = strdup("EUR");
        }
        return manager_add_row(manager, &row);
}

/* At most ENDED_KEPT ended jobs stay in memory, however many are asked for. Each has the values of its
 * row. */
static void test_bounded(void) {
        Manager *manager = manager_fixture();
        uint64_t first = add_row(manager, "ended", true);

        for (unsigned i = 1; i < N_JOBS; i++)
                (void) add_row(manager, "ended", true);
        for (uint64_t id = first; id < first + N_JOBS; id++) {
                Job *job = ended_find(manager, id);

                g_assert_nonnull(job);
                g_assert_cmpuint(job->row.id, ==, id);
                g_assert_cmpstr(job->settings.environment, ==, "CartPole-v1");
                g_assert_cmpuint(manager->ended.length, <=, ENDED_KEPT);
        }
        g_assert_cmpuint(manager->context.jobs.all->len, ==, 0);
        g_assert_null(ended_find(manager, first + N_JOBS));
        manager_unfixture(manager);
}

/* A row is read once for all properties of its job. */
static void test_kept(void) {
        Manager *manager = manager_fixture();
        uint64_t id = add_row(manager, "ended", true);
        Job *job = ended_find(manager, id);

        for (unsigned i = 0; i < ENDED_KEPT - 1; i++) {
                g_assert_nonnull(ended_find(manager, add_row(manager, "ended", true)));
                g_assert_true(ended_find(manager, id) == job);
        }
        manager_unfixture(manager);
}

/* A row of a job that has not ended is not an ended job, and neither is a row that cannot be read. */
static void test_none(void) {
        Manager *manager = manager_fixture();

        g_assert_null(ended_find(manager, add_row(manager, "running", true)));
        manager_unfixture(manager);
}

static int collect(const LedgerListed *job, void *userdata) {
        g_string_append_printf(userdata, "%" G_GUINT64_FORMAT ":%s:%s:%s ", job->id, job->environment ?: "-",
                        job->description ?: "-", job->currency ?: "-");
        return 0;
}

static Job *add_job(Manager *manager, uint64_t id) {
        LedgerJob row = {};
        Job *job;

        assert_ok(ledger_job_get(manager->context.ledger, id, &row));
        assert_ok(job_new(&manager->context, &row, &job));
        jobs_add(&manager->context.jobs, job);
        return job;
}

/* If a daemon died before it announced a job's end, the next daemon adds this job after the running jobs,
 * although its number is lower. All jobs are found by their numbers. */
static void test_order(void) {
        Manager *manager = manager_fixture();
        uint64_t older = add_row(manager, "ended", true), first = add_row(manager, "running", true),
                 second = add_row(manager, "running", true);
        Job *a = add_job(manager, first), *b = add_job(manager, second), *c = add_job(manager, older);

        g_assert_true(jobs_find(&manager->context.jobs, first) == a);
        g_assert_true(jobs_find(&manager->context.jobs, second) == b);
        g_assert_true(jobs_find(&manager->context.jobs, older) == c);
        manager_unfixture(manager);
}

/* Rows that an older actord wrote are completed when the daemon starts. */
static void test_older(void) {
        Manager *manager = manager_fixture();
        g_autoptr(GString) rows = g_string_new(NULL);

        manager->context.config.keep_jobs = 2;
        (void) add_row(manager, "ended", true);
        (void) add_row(manager, "ended", false);
        assert_ok(sd_event_default(&manager->context.event));
        older_start(manager);
        g_assert_cmpint(ledger_list(manager->context.ledger, 0, collect, rows), ==, 0);
        g_assert_cmpstr(rows->str, ==, "2:CartPole-v1:a row:EUR 1:CartPole-v1:a row:EUR ");
        background_stop(&manager->reading_older);
        manager->context.event = sd_event_unref(manager->context.event);
        manager_unfixture(manager);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/ended/bounded", test_bounded);
        g_test_add_func("/ended/kept", test_kept);
        g_test_add_func("/ended/none", test_none);
        g_test_add_func("/ended/order", test_order);
        g_test_add_func("/ended/older", test_older);
        return g_test_run();
}
