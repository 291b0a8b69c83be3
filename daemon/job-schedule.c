/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decides the number of a job's actors when the record of a round has been read. The decision follows from
 * this record and the earlier ones. The records come from the running job or, after a restart, from the
 * ledger. So it does not matter when the daemon looks, or how often it was restarted. */
#include "daemon/commit.h"
#include "daemon/job-schedule.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include "include/launch.h"
#include "lib/settings/print.h"

/* Adds a figure that the scheduler saw, with its name in capitals: the journal drops fields with lower-case
 * letters in their names. */
static void __attribute__((format(printf, 3, 4)))
saw(LogEntry *entry, const char *name, const char *format, ...) {
        g_autofree char *upper = g_ascii_strup(name, -1), *value = NULL;
        va_list ap;

        va_start(ap, format);
        value = g_strdup_vprintf(format, ap);
        va_end(ap);
        log_field(entry, "ACTORD_SAW_%s=%s", upper, value);
}

/* One event for each decision, with everything that the scheduler could see, for people who debug a
 * scheduler. If rounds are shorter than LOG_BURST allows, some events are left out here. The ledger has all
 * decisions. */
static void say_decision(const Job *job) {
        const LedgerDecision *d = &job->decision;
        LogEntry entry;

        job_log_begin(&entry, job, MESSAGE_ACTORS_DECIDED);
        log_field(&entry, "ACTORD_DECISION=%" PRIu64, d->id);
        log_field(&entry, "ACTORD_ACTORS=%" PRIu32, d->n_actors);
        log_field(&entry, "ACTORD_POLICY=%s", choice_scheduler_to_string(job->settings.scheduler.kind));
        if (d->record > 0) {
#define X(name, comment) saw(&entry, #name, "%" PRIu64, d->facts.name);
                ROUND_FACTS(X)
#undef X
#define X(name, unit)                                \
        if (isfinite(job->progress.statistics.name)) \
                saw(&entry, #name, "%.17g", job->progress.statistics.name);
                STATISTICS(X)
#undef X
        }
        log_send(&entry, LOG_DEBUG, "Job %" PRIu64 " has %" PRIu32 " actors from round %" PRIu64 " on.",
                        job->row.id, d->n_actors, d->round);
}

void job_decide(Job *job, const Record *closed) {
        const Progress *p = &job->progress;
        SchedulerView view;

        assert(job);

        view = (SchedulerView){
                .settings = &job->settings,
                .data = job->row.scheduler_data,
                .n_data = job->row.n_scheduler_data,
                .sheet = job->sheet,
                .cache = &job->scheduler_cache,
        };
        if (closed) {
                view.round = p->round;
                view.statistics = &p->statistics;
                view.facts = &p->facts;
        }
        if (scheduler_decide(&view, &job->scheduler) == 0)
                return;
        job->decision = (LedgerDecision){
                .life = job->row.life,
                .round = job->scheduler.decided_round,
                .id = job->scheduler.n_decisions,
                .record = closed ? closed->seq : 0,
                .n_actors = job->scheduler.n_actors,
                .facts = closed ? p->facts : (RoundFacts){},
                .why = job->scheduler.why,
        };
        job->decision_unsaved = true;
}

int job_decision_save(Job *job) {
        int r;

        assert(job);

        if (!job->decision_unsaved)
                return 0;
        r = ledger_decision_append(job->context->ledger, job->row.id, &job->decision);
        if (r == -ENOBUFS) {
                r = commit_now(job->context);
                if (r >= 0)
                        r = ledger_decision_append(job->context->ledger, job->row.id, &job->decision);
        }
        if (r < 0) {
                commit_failed(job->context, r);
                return r;
        }
        job->decision_unsaved = false;
        commit_soon(job->context);
        say_decision(job);
        return 0;
}

int job_decisions(Job *job, uint64_t after, unsigned most, LedgerDecision **ret, size_t *ret_n) {
        assert(job);

        if (ledger_n_pending(job->context->ledger) > 0)
                (void) commit_now(job->context);
        return ledger_decisions(job->context->ledger, job->row.id, after, most, ret, ret_n);
}

void job_schedule_anew(Job *job) {
        assert(job);

        scheduler_init(&job->scheduler, job_scheduler_kind(job));
        job_decide(job, NULL);
}

void job_schedule_restore(Job *job, LedgerPosition *ret) {
        LedgerCheckpoint checkpoint = {};
        int r;

        assert(job);
        assert(ret);

        *ret = (LedgerPosition){};
        job->decision_unsaved = false;
        r = ledger_checkpoint_newest(job->context->ledger, job->row.id, &checkpoint);
        if (r >= 0)
                r = scheduler_restore(&job->scheduler, job_scheduler_kind(job), checkpoint.scheduler,
                                checkpoint.scheduler_bytes);
        if (r >= 0)
                *ret = (LedgerPosition){ checkpoint.life, checkpoint.seq };
        else
                /* There is no state yet, or the state is of another version: it is made again from all
                 * records. */
                job_schedule_anew(job);
        free(checkpoint.scheduler);
}
