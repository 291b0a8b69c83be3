/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each row is read once and completed, and its files are counted; one that cannot be read any more gets
 * empty words, and is not tried again. */
#include "daemon/older.h"

#include <assert.h>
#include "daemon/disk.h"
#include "daemon/job.h"

#define OLDER_PORTION 16u

static int describe(Manager *manager, uint64_t id) {
        LedgerJob row = {};
        Job *job;
        int r;

        r = ledger_job_get(manager->ledger, id, &row);
        if (r < 0)
                return r;
        disk_count(manager, id);
        if (job_new(manager, &row, &job) < 0) {
                ledger_job_done(&row);
                return ledger_job_describe(manager->ledger, id, "", "", "");
        }
        r = ledger_job_describe(manager->ledger, id, job->settings.environment, job->settings.description,
                        price_sheet_currency(job->sheet));
        (void) job_free(job);
        return r;
}

/* How many were described; 0: none is left. */
static int describe_some(Manager *manager, size_t most) {
        uint64_t ids[OLDER_PORTION];
        size_t n = 0;
        int r;

        r = ledger_older(manager->ledger, ids, most < OLDER_PORTION ? most : OLDER_PORTION, &n);
        for (size_t i = 0; r >= 0 && i < n; i++)
                r = describe(manager, ids[i]);
        return r < 0 ? r : (int) n;
}

static int on_idle(sd_event_source *source, void *userdata) {
        Manager *manager = userdata;

        if (describe_some(manager, OLDER_PORTION) <= 0)
                manager->older_source = sd_event_source_disable_unref(manager->older_source);
        return 0;
}

void older_start(Manager *manager) {
        size_t left;
        int n = 1;

        assert(manager);

        for (left = manager->config.keep_jobs; left > 0 && n > 0; left -= (size_t) MAX(n, 0))
                n = describe_some(manager, left);
        if (n <= 0 || sd_event_add_defer(manager->event, &manager->older_source, on_idle, manager) < 0)
                return;
        (void) sd_event_source_set_description(manager->older_source, "older-rows");
        (void) sd_event_source_set_priority(manager->older_source, SD_EVENT_PRIORITY_IDLE);
        (void) sd_event_source_set_enabled(manager->older_source, SD_EVENT_ON);
}
