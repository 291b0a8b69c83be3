/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/spending.h"

#include <assert.h>
#include "daemon/day.h"
#include "daemon/users.h"
#include "lib/boottime.h"

static uint64_t now_usec(void) {
        return (uint64_t) g_get_real_time();
}

static bool is_due(const Job *job) {
        return job->state == JOB_ENDING || job->progress.ended || job->progress.lost ||
               clock_boottime() / 1000 - job->counted_usec >= SPENDING_NOTE_USEC ||
               spending_is_limited(job->manager, job->row.uid);
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
        return ledger_spent_note(job->manager->ledger, &spent);
}

void spending_note(Manager *manager, GHashTable **ret_users) {
        GHashTable *users = NULL;
        char day[DAY_MAX];

        assert(manager);
        assert(ret_users);

        /* A run's ledger is its own, and has no quotas. */
        for (guint i = 0; manager->mode != DAEMON_RUN && i < manager->jobs->len; i++) {
                Job *job = manager->jobs->pdata[i];

                if (!job->uncounted || !is_due(job))
                        continue;
                if (!users) {
                        users = g_hash_table_new(g_direct_hash, g_direct_equal);
                        (void) day_of(now_usec(), day);
                }
                /* Of more jobs than the ledger takes at once the others are counted at the next commit. */
                job->uncounted = note(job, day) < 0;
                (void) g_hash_table_add(users, GUINT_TO_POINTER(job->row.uid));
        }
        *ret_users = users;
}

static bool has_money_quota(Manager *manager, uint32_t uid, Quota *ret) {
        return users_quota(manager, uid, ret) && ret->money.nano > 0;
}

Hold spending_hold(Manager *manager, uint32_t uid, const Quota *quota) {
        uint64_t now = now_usec(), nano = 0;
        char day[DAY_MAX];
        Hold hold;

        assert(manager);
        assert(quota);

        /* A ledger that cannot be read holds everything up by itself. */
        if (quota->money.nano == 0 || ledger_spending(manager->ledger, uid, day_of(now, day),
                                                      quota->money.currency, &nano) < 0)
                return (Hold){};
        if (nano < quota->money.nano)
                return (Hold){};
        hold = (Hold){ HOLD_MONEY, nano, quota->money.nano, .until_usec = day_end(now) };
        (void) g_strlcpy(hold.currency, quota->money.currency, sizeof(hold.currency));
        return hold;
}

static bool has_movable(const Manager *manager, uint32_t uid) {
        for (guint i = 0; i < manager->jobs->len; i++) {
                const Job *job = manager->jobs->pdata[i];

                if (job->row.uid == uid && job_may_go_back(job) && !job->back_reason)
                        return true;
        }
        return false;
}

void spending_look(Manager *manager, GHashTable *users) {
        GHashTableIter iter;
        gpointer key;
        Quota quota;

        assert(manager);
        assert(users);

        g_hash_table_iter_init(&iter, users);
        while (g_hash_table_iter_next(&iter, &key, NULL)) {
                uint32_t uid = GPOINTER_TO_UINT(key);

                if (has_money_quota(manager, uid, &quota) && has_movable(manager, uid) &&
                                spending_hold(manager, uid, &quota).reason == HOLD_MONEY)
                        manager_schedule(manager);
        }
}

bool spending_is_limited(Manager *manager, uint32_t uid) {
        Quota quota;

        assert(manager);

        /* Not known yet: nothing is given away meanwhile. */
        return !users_quota(manager, uid, &quota) || quota.money.nano > 0;
}

int spending_today(Manager *manager, uint32_t uid,
                int (*each)(const char *currency, uint64_t nano, void *userdata), void *userdata) {
        char day[DAY_MAX];

        assert(manager);

        return ledger_spending_foreach(manager->ledger, uid, day_of(now_usec(), day), each, userdata);
}
