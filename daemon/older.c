/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each row that an older actord wrote (daemon/older.h) is read and completed once, and the job's files are
 * counted. A row that cannot be read any more gets empty texts, and is not read again. A job's records are
 * summed up in small portions. The summary is then written as for any job that ends, with the columns of
 * lists and the totals, in one transaction. If the daemon ends before that, nothing is written, and the next
 * daemon begins with this job again. */
#include "daemon/commit.h"
#include "daemon/job-end.h"
#include "daemon/older.h"

#include <assert.h>
#include "daemon/disk.h"
#include "daemon/job.h"
#include "daemon/log.h"
#include "daemon/sources.h"

#define OLDER_PORTION  16u
#define RECORD_PORTION 256u

static int describe(Manager *manager, uint64_t id) {
        Job *job;
        int r;

        disk_count(&manager->context, id);
        r = job_of_row(&manager->context, id, &job);
        if (r == -EINVAL)
                return ledger_job_describe(manager->context.ledger, id, "", "", "");
        if (r < 0)
                return r;
        r = ledger_job_describe(manager->context.ledger, id, job->settings.environment,
                        job->settings.description, price_sheet_currency(job->sheet));
        (void) job_free(job);
        return r;
}

/* Completes the rows of some jobs that an older actord wrote. Returns how many; 0: none is left. */
static int describe_some(Manager *manager, size_t most) {
        uint64_t ids[OLDER_PORTION];
        size_t n = 0;
        int r;

        r = ledger_older(manager->context.ledger, ids, most < OLDER_PORTION ? most : OLDER_PORTION, &n);
        for (size_t i = 0; r >= 0 && i < n; i++)
                r = describe(manager, ids[i]);
        return r < 0 ? r : (int) n;
}

static void forget(Manager *manager) {
        manager->older_replay = job_replay_free(manager->older_replay);
        manager->older_job = job_free(manager->older_job);
}

/* Takes the next job whose records must be summed up. 1: there is one. */
static int next_job(Manager *manager) {
        uint64_t id;
        int r;

        r = ledger_unsummed(manager->context.ledger, &id);
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        r = job_of_row(&manager->context, id, &manager->older_job);
        /* This version cannot make a bill of the job, so its records stay for a version that can. */
        if (r == -EINVAL) {
                r = ledger_trim_never(manager->context.ledger, id);
                return r < 0 ? r : 1;
        }
        if (r < 0)
                return r;
        manager->older_replay = job_replay_new(manager->older_job);
        return 1;
}

/* Adds up one portion of an older job's records, or begins with the next job. 1: there may be more to do. */
static int sum_some(Manager *manager) {
        int r;

        if (!manager->older_job)
                return next_job(manager);
        r = job_replay_some(manager->older_replay, RECORD_PORTION);
        if (r != 0)
                return r;
        r = job_sum_up(manager->older_job);
        if (r < 0)
                return r;
        forget(manager);
        r = commit_now(&manager->context);
        return r < 0 ? r : 1;
}

static void read_some(void *userdata) {
        Manager *manager = userdata;
        int r;

        r = describe_some(manager, OLDER_PORTION);
        /* In run mode the ledger belongs to the caller: rows are completed, but no records are summed up. */
        if (r == 0 && manager->context.mode != DAEMON_RUN)
                r = sum_some(manager);
        if (r > 0)
                return;
        if (r < 0)
                log_line(LOG_WARNING,
                                "Totals of jobs of an older actord could not be written to the ledger "
                                "(%s); actord tries again at its next start.",
                                ledger_error_words(r));
        older_done(manager);
}

void older_start(Manager *manager) {
        size_t left;
        int n = 1;

        assert(manager);

        for (left = manager->context.config.keep_jobs; left > 0 && n > 0; left -= (size_t) MAX(n, 0))
                n = describe_some(manager, left);
        if (n >= 0)
                (void) background_start(&manager->reading_older, manager->context.event, "older-rows",
                                BACKGROUND_USEC, read_some, manager);
}

void older_done(Manager *manager) {
        assert(manager);

        background_stop(&manager->reading_older);
        forget(manager);
}
