/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* GetDecisions: the decisions of a job's scheduler, and the figures that it saw. CheckDecisions: whether the
 * scheduler makes the same decisions again from the recorded figures. */
#include "daemon/job.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "daemon/access.h"
#include "daemon/job-bus.h"
#include "daemon/job-schedule.h"
#include "daemon/long-call.h"
#include "daemon/reply.h"
#include "include/bus.h"
#include "lib/cleanup.h"

#define DECISIONS_MOST 50000u

/* X(name, value): figures of the round before; in a reply they come after those of the decision itself. */
#define SEEN(X)                                                        \
        X(before_actors, (double) d->facts.n_actors)                   \
        X(learner_s, (double) d->facts.learner_nsec / 1e9)             \
        X(actor_mean_s, (double) d->facts.actor_mean_nsec / 1e9)       \
        X(actor_slowest_s, (double) d->facts.actor_slowest_nsec / 1e9) \
        X(round_s, (double) d->facts.round_nsec / 1e9)                 \
        X(round_cost, (double) d->facts.cost_nano / 1e9)               \
        X(budget_left, d->facts.budget_left_nano == UINT64_MAX ? NAN   \
                                                               : (double) d->facts.budget_left_nano / 1e9)

/* X(name, value): the reasons for the decision. NaN: the scheduler gives no reasons, or did not have this
 * figure. */
#define WHY(X)                                                      \
        X(reason, (double) d->why.reason)                           \
        X(charge, (double) d->why.charge)                           \
        X(share, (double) d->why.share_permille / 1e3)              \
        X(wanted, known(d->why.wanted, 1))                          \
        X(progress, known(d->why.progress_permille, 1e3))           \
        X(money, known(d->why.money_permille, 1e3))                 \
        X(seen_before, known(d->why.seen_before, 1))                \
        X(seen_progress, known(d->why.seen_progress_permille, 1e3)) \
        X(seen_money, known(d->why.seen_money_permille, 1e3))       \
        X(expected_s, known(d->why.expected_nsec, 1e9))

static double known(uint64_t value, double unit) {
        return value > 0 ? (double) value / unit : NAN;
}

static const char *const names[] = { "round", "actors", "decision", "life", "taken",
#define X(name, ...) #name,
        SEEN(X) LEARNED_STATISTICS(X) WHY(X)
#undef X
};
enum { N_NAMES = ELEMENTSOF(names) };
/* a row: its numbers, their count, and padding */
static_assert(DECISIONS_MOST * (N_NAMES * sizeof(double) + 8) <= REPLY_BYTES_MAX, "an answer fits");

static void decision_row(const LedgerDecision *d, double ret[N_NAMES]) {
        size_t at = 0;

        ret[at++] = (double) d->round;
        ret[at++] = d->n_actors;
        ret[at++] = (double) d->id;
        ret[at++] = (double) d->life;
        ret[at++] = d->taken > 0 ? (double) (d->taken - 1) : NAN;
#define X(name, value) ret[at++] = d->record > 0 ? value : NAN;
        SEEN(X)
#undef X
#define X(name, unit) ret[at++] = d->record > 0 ? d->statistics.name : NAN;
        LEARNED_STATISTICS(X)
#undef X
#define X(name, value) ret[at++] = d->why.reason != REASON_NONE ? value : NAN;
        WHY(X)
#undef X
        assert(at == N_NAMES);
}

int method_get_decisions(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        _cleanup_free_ LedgerDecision *decisions = NULL;
        Job *job = userdata;
        uint64_t after;
        uint32_t most;
        size_t n = 0;
        int r;

        r = sd_bus_message_read(m, "tu", &after, &most);
        if (r < 0)
                return r;
        r = reply_trimmed(&job->row, error);
        if (r < 0)
                return r;
        r = job_decisions(job, after, MIN(most, DECISIONS_MOST), &decisions, &n);
        if (r < 0)
                return sd_bus_error_set_errnof(
                                error, r, "The ledger's decisions could not be read: %s.", g_strerror(-r));

        r = reply_table(m, names, N_NAMES, &reply);
        if (r < 0)
                return r;
        for (size_t i = 0; i < n; i++) {
                double row[N_NAMES];

                decision_row(&decisions[i], row);
                r = sd_bus_message_append_array(reply, 'd', row, sizeof(row));
                if (r < 0)
                        return r;
        }
        return reply_send(reply);
}

/* CheckDecisions works in parts: a long job has many decisions, and a policy may need time for each. */
#define CHECK_PART 512u /* decisions that are in memory at once */

typedef struct DecisionsCheck {
        Job *job;
        SchedulerState state;
        SchedulerCache cache;
        LedgerDecision *decisions;
        size_t n, at;
        uint64_t after, n_checked;
        const LedgerDecision *differs; /* the first recorded decision that is not made again; NULL: none */
} DecisionsCheck;

static void check_free(void *p) {
        DecisionsCheck *check = p;

        free(check->decisions);
        scheduler_cache_done(&check->cache);
        g_free(check);
}

static bool follows(const Job *job, SchedulerCache *cache, SchedulerState *state, const LedgerDecision *d) {
        SchedulerView view = {
                .settings = &job->settings,
                .data = job->row.scheduler_data,
                .n_data = job->row.n_scheduler_data,
                .sheet = job->sheet,
                .cache = cache,
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

/* Reads the next part of the decisions: those of the rounds after check->after. 0: there are none. */
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
        if (!follows(check->job, &check->cache, &check->state, d)) {
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
        r = access_uid(job->context->access, m, &uid, error);
        if (r < 0)
                return r;
        check = g_new0(DecisionsCheck, 1);
        check->job = job;
        scheduler_init(&check->state, job_scheduler_kind(job));
        return long_call_start(job, m, uid, &ops, check, error);
}
