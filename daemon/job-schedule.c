/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The number of actors of a job: decided when a round's record has been read, from that record and those before it, whether they come from the spool or, after a
 * restart, from the ledger. So it makes no difference when the daemon looks, or how often it was restarted. */
#include "daemon/job.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

void job_decide(Job *job) {
        const Progress *p = &job->progress;
        SchedulerView view = { .settings = &job->settings };

        assert(job);

        if (job->scheduler.n_decisions > 0) {
                view.round = p->round;
                view.statistics = &p->statistics;
                view.facts = &p->facts;
        }
        (void) scheduler_decide(&view, &job->scheduler);
}

void job_schedule_anew(Job *job) {
        assert(job);

        scheduler_init(&job->scheduler, job->settings.scheduler.kind);
        job_decide(job);
}

void job_schedule_restore(Job *job, LedgerPosition *ret) {
        LedgerCheckpoint checkpoint = {};
        int r;

        assert(job);
        assert(ret);

        *ret = (LedgerPosition){};
        r = ledger_checkpoint_newest(job->manager->ledger, job->row.id, &checkpoint);
        if (r >= 0)
                r = scheduler_restore(&job->scheduler, job->settings.scheduler.kind, checkpoint.scheduler,
                                checkpoint.scheduler_bytes);
        if (r >= 0)
                *ret = (LedgerPosition){ checkpoint.life, checkpoint.seq };
        else
                /* None yet, or another version's: the records tell everything from the first round on. */
                job_schedule_anew(job);
        free(checkpoint.scheduler);
}
