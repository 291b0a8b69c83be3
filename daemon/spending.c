/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/spending.h"

#include <assert.h>
#include "daemon/day.h"
#include "daemon/job.h"
#include "daemon/users.h"
#include "lib/boottime.h"

static uint64_t now_usec(void) {
        return (uint64_t) g_get_real_time();
}

static bool is_due(const Job *job) {
        return job->state == JOB_ENDING || job->progress.ended || job->progress.lost ||
               clock_boottime() / 1000 - job->counted_usec >= SPENDING_NOTE_USEC ||
               spending_is_limited(job->context, job->row.uid);
}

static int note(Job *job, const char *day) {
        LedgerSpent spent = {
                .job = job->row.id,
                .uid = job->row.uid,
                .full_nano = bill_full_nano(&job->progress.usage, job->sheet, &job->settings),
        };

        job->counted_usec = clock_boottime() / 1000;
        (void) g_strlcpy(spent.day, day, sizeof(spent.day));
        (void) g_strlcpy(spent.currency, price_sheet_currency(job->sheet), sizeof(spent.currency));
        return ledger_spent_note(job->context->ledger, &spent);
}

void spending_note(JobContext *context, GHashTable **ret_users) {
        GHashTable *users = NULL;
        char day[DAY_MAX];

        assert(context);
        assert(ret_users);

        *ret_users = NULL;
        /* The ledger of a run has no quotas. */
        if (context->mode == DAEMON_RUN)
                return;
        JOBS_FOREACH (job, &context->jobs) {
                if (!job->uncounted || !is_due(job))
                        continue;
                if (!users) {
                        users = g_hash_table_new(g_direct_hash, g_direct_equal);
                        (void) day_of(now_usec(), day);
                }
                /* If the ledger cannot take this job now, the job is counted at the next commit. */
                job->uncounted = note(job, day) < 0;
                (void) g_hash_table_add(users, GUINT_TO_POINTER(job->row.uid));
        }
        *ret_users = users;
}

static bool has_money_quota(JobContext *context, uint32_t uid, Quota *ret) {
        return users_quota(context->users, uid, ret) && ret->money.nano > 0;
}

Hold spending_hold(JobContext *context, uint32_t uid, const Quota *quota) {
        uint64_t now = now_usec(), nano = 0;
        char day[DAY_MAX];
        Hold hold;

        assert(context);
        assert(quota);

        /* If the ledger cannot be read, no job is held here: such a ledger stops all jobs anyway. */
        if (quota->money.nano == 0 || ledger_spending(context->ledger, uid, day_of(now, day),
                                                      quota->money.currency, &nano) < 0)
                return (Hold){};
        if (nano < quota->money.nano)
                return (Hold){};
        hold = (Hold){ HOLD_MONEY, nano, quota->money.nano, .until_usec = day_end(now) };
        (void) g_strlcpy(hold.currency, quota->money.currency, sizeof(hold.currency));
        return hold;
}

static bool has_movable(const JobContext *context, uint32_t uid) {
        JOBS_FOREACH (job, &context->jobs) {
                if (job->row.uid == uid && job_may_go_back(job) && !job->back_reason)
                        return true;
        }
        return false;
}

void spending_look(JobContext *context, GHashTable *users) {
        GHashTableIter iter;
        gpointer key;
        Quota quota;

        assert(context);
        assert(users);

        g_hash_table_iter_init(&iter, users);
        while (g_hash_table_iter_next(&iter, &key, NULL)) {
                uint32_t uid = GPOINTER_TO_UINT(key);

                if (has_money_quota(context, uid, &quota) && has_movable(context, uid) &&
                                spending_hold(context, uid, &quota).reason == HOLD_MONEY)
                        jobs_schedule(&context->jobs);
        }
}

bool spending_is_limited(JobContext *context, uint32_t uid) {
        Quota quota;

        assert(context);

        /* A quota that is not known yet counts as a limit. */
        return !users_quota(context->users, uid, &quota) || quota.money.nano > 0;
}

int spending_today(JobContext *context, uint32_t uid,
                int (*each)(const char *currency, uint64_t nano, void *userdata), void *userdata) {
        char day[DAY_MAX];

        assert(context);

        return ledger_spending_foreach(context->ledger, uid, day_of(now_usec(), day), each, userdata);
}
