/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* CheckDecisions: whether a job's scheduler, with nothing but what is written down, would decide so again. A long job has many decisions, and a
 * policy may take its time for each: they are gone through in short parts, when the daemon has nothing else to do. */
#include "daemon/job.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include "daemon/trim.h"
#include "lib/cleanup.h"

#define CHECKS_MAX 8u    /* at once, for all callers */
#define CHECK_PART 4096u /* decisions that are in memory at once */
#define TURN_NSEC  UINT64_C(5000000)

struct DecisionsCheck {
        Job *job;
        sd_bus_message *message;
        sd_event_source *source;
        SchedulerState state;
        LedgerDecision *decisions;
        size_t n, at;
        uint64_t after, n_checked;
};

DecisionsCheck *decisions_check_free(DecisionsCheck *check) {
        if (!check)
                return NULL;

        check->job->manager->n_checks--;
        check->source = sd_event_source_disable_unref(check->source);
        check->message = sd_bus_message_unref(check->message);
        free(check->decisions);
        free(check);
        return NULL;
}

static bool follows(const Job *job, SchedulerState *state, const LedgerDecision *d) {
        SchedulerView view = {
                .settings = &job->settings,
                .data = job->row.scheduler_data,
                .n_data = job->row.n_scheduler_data,
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

static uint64_t now_nsec(void) {
        struct timespec t;

        (void) clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

static void say(DecisionsCheck *check, const LedgerDecision *differs) {
        Job *job = check->job;

        (void) sd_bus_reply_method_return(check->message, "ttuu", check->n_checked,
                        differs ? differs->round : UINT64_C(0), differs ? differs->n_actors : 0u,
                        differs ? check->state.n_actors : 0u);
        job->check = decisions_check_free(check);
}

static void fail(DecisionsCheck *check, int error) {
        Job *job = check->job;

        (void) sd_bus_reply_method_errnof(check->message, error,
                        "The ledger's decisions could not be read: %s.", g_strerror(-error));
        job->check = decisions_check_free(check);
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

static int on_turn(sd_event_source *source, void *userdata) {
        DecisionsCheck *check = userdata;
        uint64_t end = now_nsec() + TURN_NSEC;

        do {
                const LedgerDecision *d;

                if (check->at == check->n) {
                        int r = read_part(check);

                        if (r < 0)
                                fail(check, r);
                        else if (r == 0)
                                say(check, NULL);
                        if (r <= 0)
                                return 0;
                }
                d = &check->decisions[check->at++];
                if (!follows(check->job, &check->state, d)) {
                        say(check, d);
                        return 0;
                }
                check->n_checked += !d->carried;
                check->after = d->round;
        } while (now_nsec() < end);
        return 0;
}

int method_check_decisions(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Job *job = userdata;
        DecisionsCheck *check;
        int r;

        r = trim_refuse(job, error);
        if (r < 0)
                return r;
        if (job->check || job->manager->n_checks >= CHECKS_MAX)
                return sd_bus_error_set(error, SD_BUS_ERROR_LIMITS_EXCEEDED,
                                "This job's decisions, or those of as many others as may be at once, are being checked: "
                                "try again in a moment.");
        check = calloc(1, sizeof(*check));
        if (!check)
                return -ENOMEM;

        check->job = job;
        job->manager->n_checks++;
        check->message = sd_bus_message_ref(m);
        scheduler_init(&check->state, job_scheduler_kind(job));
        r = sd_event_add_defer(job->manager->event, &check->source, on_turn, check);
        if (r >= 0)
                r = sd_event_source_set_priority(check->source, SD_EVENT_PRIORITY_IDLE);
        if (r >= 0)
                r = sd_event_source_set_enabled(check->source, SD_EVENT_ON);
        if (r < 0) {
                (void) decisions_check_free(check);
                return r;
        }
        (void) sd_event_source_set_description(check->source, "check-decisions");
        job->check = check;
        return 1;
}
