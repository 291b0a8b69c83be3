/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* CheckDecisions: whether a job's scheduler, with nothing but what is written down, would decide so
 * again. A long job has many decisions, and a policy may take its time for each. */
#include "daemon/job.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include "daemon/access.h"
#include "daemon/long-call.h"
#include "daemon/reply.h"

#define CHECK_PART 512u /* decisions that are in memory at once */

typedef struct DecisionsCheck {
        Job *job;
        SchedulerState state;
        LedgerDecision *decisions;
        size_t n, at;
        uint64_t after, n_checked;
        const LedgerDecision *differs; /* the first one that does not follow */
} DecisionsCheck;

static void check_free(void *p) {
        DecisionsCheck *check = p;

        free(check->decisions);
        g_free(check);
}

static bool follows(const Job *job, SchedulerState *state, const LedgerDecision *d) {
        SchedulerView view = {
                .settings = &job->settings,
                .data = job->row.scheduler_data,
                .n_data = job->row.n_scheduler_data,
                .sheet = job->sheet,
                .round = d->round - 1,
                .statistics = d->record > 0 ? &d->statistics : NULL,
                .facts = d->record > 0 ? &d->facts : NULL,
        };

        if (d->carried)
                return state->n_actors == d->n_actors && state->n_decisions == d->id;
        if (d->round == 0 || (d->round > 1 && d->record == 0))
                return false;
        (void) scheduler_decide(&view, state);
        return state->n_actors == d->n_actors && state->n_decisions == d->id &&
               (state->taken == 0 || state->taken == d->taken);
}

static int check_answer(sd_bus_message *m, int result, void *work) {
        const DecisionsCheck *check = work;
        const LedgerDecision *differs = check->differs;

        if (result < 0)
                return sd_bus_reply_method_errnof(m, result, "The ledger's decisions could not be read: %s.",
                                g_strerror(-result));
        return sd_bus_reply_method_return(m, "ttuu", check->n_checked,
                        differs ? differs->round : UINT64_C(0), differs ? differs->n_actors : 0u,
                        differs ? check->state.n_actors : 0u);
}

/* The decisions that follow. 0: there are none. */
static int read_part(DecisionsCheck *check) {
        int r;

        free(check->decisions);
        check->decisions = NULL;
        check->n = check->at = 0;
        r = job_decisions(check->job, check->after, CHECK_PART, &check->decisions, &check->n);
        return r < 0 ? r : check->n > 0;
}

static int check_next(void *work) {
        DecisionsCheck *check = work;
        const LedgerDecision *d;
        int r;

        if (check->at == check->n) {
                r = read_part(check);
                if (r <= 0)
                        return r;
        }
        d = &check->decisions[check->at++];
        if (!follows(check->job, &check->state, d)) {
                check->differs = d;
                return 0;
        }
        check->n_checked += !d->carried;
        check->after = d->round;
        return 1;
}

int method_check_decisions(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        static const LongCallOps ops = { .part = check_next, .answer = check_answer, .free = check_free };
        Job *job = userdata;
        DecisionsCheck *check;
        uint32_t uid;
        int r;

        r = reply_trimmed(&job->row, error);
        if (r < 0)
                return r;
        r = access_uid(job->manager, m, &uid, error);
        if (r < 0)
                return r;
        check = g_new0(DecisionsCheck, 1);
        check->job = job;
        scheduler_init(&check->state, job_scheduler_kind(job));
        return long_call_start(job, m, uid, &ops, check, error);
}
