/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tests/unit/manager-fixture.h"

#include <errno.h>
#include <string.h>

#include "daemon/ended.h"
#include "daemon/job.h"

static const char sheet_text[] = "[Sheet]\nName=aws-lambda-x86\nDate=2026-01-01\nSource=none\nCurrency=EUR\n"
                                 "Description=d\n"
                                 "[Execution]\nGBSecond=0.01\n";

Manager *manager_fixture(void) {
        Manager *manager = g_new0(Manager, 1);

        manager->context.mode = DAEMON_RUN;
        manager->context.jobs_fd = manager->context.sockets_fd = -EBADF;
        manager->context.jobs.all = g_ptr_array_new();
        assert_ok(ledger_open(":memory:", &manager->context.ledger));
        return manager;
}

void manager_unfixture(Manager *manager) {
        ended_done(manager);
        JOBS_FOREACH (job, &manager->context.jobs)
                (void) job_free(job);
        g_ptr_array_unref(manager->context.jobs.all);
        ledger_close(manager->context.ledger);
        g_free(manager);
}

LedgerJob manager_row(const char *state, const char *result) {
        return (LedgerJob){
                .life = 1,
                .uid = 1000,
                .submitted_usec = 1,
                .state = strdup(state),
                .result = strdup(result),
                .text = strdup(MANAGER_JOB_TEXT),
                .file_name = strdup("test.conf"),
                .overrides = strdup(""),
                .sheet = strdup(sheet_text),
                .files = strdup(""),
        };
}

uint64_t manager_add_row(Manager *manager, LedgerJob *row) {
        uint64_t id;

        assert_ok(ledger_job_add(manager->context.ledger, row));
        id = row->id;
        ledger_job_done(row);
        return id;
}
