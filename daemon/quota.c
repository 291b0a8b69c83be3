/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/quota.h"

#include <assert.h>
#include <inttypes.h>
#include "daemon/access.h"
#include "daemon/hold.h"
#include "daemon/job-distribution.h"
#include "daemon/job.h"
#include "daemon/line.h"
#include "daemon/reply.h"
#include "daemon/spending.h"
#include "daemon/users.h"
#include "include/bus.h"
#include "lib/cleanup.h"

static char *size_words(uint64_t bytes) {
        if (bytes < 1ull << 20)
                return g_strdup_printf("%" PRIu64 " KiB", (bytes + 1023) >> 10);
        return g_strdup_printf("%.1f MiB", (double) bytes / (1 << 20));
}

/* Refuses a call whose user's quota is not known any more. It was known when the call came, but since then
 * the table of users has overflowed. */
static int unknown(sd_bus_error *error, uint32_t uid) {
        return sd_bus_error_setf(error, BUS_ERROR(Busy),
                        "The quota of user %" PRIu32 " is not known yet: try again in a moment.", uid);
}

int quota_check_disk(Manager *manager, uint32_t uid, uint64_t bytes, sd_bus_error *error) {
        g_autofree char *has = NULL, *comes = NULL, *most = NULL;
        uint64_t limit, used = 0;
        Quota quota;
        int r;

        assert(manager);

        if (!users_quota(manager->context.users, uid, &quota))
                return unknown(error, uid);
        limit = quota.disk_bytes;
        if (limit == 0)
                return 0;
        r = ledger_disk(manager->context.ledger, uid, 0, &used);
        if (r < 0)
                return sd_bus_error_set_errnof(error, r,
                                "The ledger cannot say how much disk your jobs' files take: %s.",
                                ledger_error_words(r));
        if (quota_disk_has_room(limit, used, bytes))
                return 0;
        has = size_words(used);
        comes = size_words(bytes);
        most = size_words(limit);
        if (bytes > 0)
                return sd_bus_error_setf(error, BUS_ERROR(TooManyJobs),
                                "The files that come with the job take %s, the files of your jobs %s, and "
                                "%s is the limit (MaxDiskPerUser=): remove the files of ended jobs with "
                                "actorctl remove.",
                                comes, has, most);
        return sd_bus_error_setf(error, BUS_ERROR(TooManyJobs),
                        "The files of your jobs take %s, and %s is the limit (MaxDiskPerUser=): "
                        "remove the files of ended jobs with actorctl remove.",
                        has, most);
}

int quota_check(Manager *manager, uint32_t uid, const JobSettings *settings, bool trains,
                const char *currency, sd_bus_error *error) {
        QuotaNeed need = quota_need(settings, settings->n_learners, trains);
        QuotaUsage usage = jobs_usage(&manager->context.jobs, uid, NULL);
        g_autofree char *never = NULL;
        Quota quota;

        if (!users_quota(manager->context.users, uid, &quota))
                return unknown(error, uid);
        if (usage.jobs >= quota.jobs)
                return sd_bus_error_setf(error, BUS_ERROR(TooManyJobs),
                                "You have %" PRIu32 " jobs that have not ended, which is the limit "
                                "(MaxJobsPerUser=%" PRIu32 "): wait until one ends, or stop one.",
                                usage.jobs, quota.jobs);
        never = hold_never(&quota, &need, settings, currency);
        if (never)
                return sd_bus_error_setf(error, BUS_ERROR(TooManyJobs), "The job cannot run: %s.", never);
        return quota_check_disk(manager, uid, 0, error);
}

bool quota_waits(const Manager *manager, sd_bus_message *message) {
        assert(manager);

        return line_has(manager->lines, LINE_LOOKUPS, message);
}

int quota_ask(Manager *manager, sd_bus_message *message, uint32_t caller, uint32_t uid,
                sd_bus_message_handler_t handler, sd_bus_error *error) {
        Quota quota;
        int known, r;

        assert(manager);
        assert(message);

        known = users_known(manager->context.users, uid, &quota);
        if (known == 0) {
                r = line_enter(manager->lines, LINE_LOOKUPS, message, caller, handler, error);
                if (r <= 0)
                        return r;
                (void) users_quota(manager->context.users, uid, &quota);
                known = users_known(manager->context.users, uid, &quota);
        }
        if (known == 0)
                return 0;
        line_leave(manager->lines, LINE_LOOKUPS, message);
        if (known < 0)
                return sd_bus_error_setf(error, SD_BUS_ERROR_FAILED,
                                "The quota of user %" PRIu32 " depends on groups, and the host's user "
                                "database does not say which groups the user is in (%s): try again in "
                                "%llu s.",
                                uid, g_strerror(-known), LOOKUP_RETRY_USEC / 1000000);
        return 1;
}

typedef struct MoneyRows {
        sd_bus_message *reply;
        const setting_money *quota;
        unsigned n;
        bool limit_said;
} MoneyRows;

/* Adds a row about money to the reply, in billionths of a currency. */
static int money_row(const char *currency, uint64_t nano, void *userdata) {
        MoneyRows *rows = userdata;
        bool limited = rows->quota->nano > 0 && g_str_equal(currency, rows->quota->currency);
        g_autofree char *unit = g_strconcat(*currency ? "n" : "", currency, NULL);

        rows->n++;
        rows->limit_said = rows->limit_said || limited;
        return sd_bus_message_append(rows->reply, "(sstt)", "money", unit, nano,
                               limited ? rows->quota->nano : (uint64_t) 0) < 0
                               ? -ENOMEM
                               : 0;
}

/* Adds a row for each currency in which the user has spent money today, and one for the quota's currency.
 * Without a limit, the latter is there only if nothing was spent, and has no currency. */
static int money_rows(Manager *manager, uint32_t uid, const Quota *quota, sd_bus_message *reply) {
        MoneyRows rows = { .reply = reply, .quota = &quota->money };
        int r;

        r = spending_today(&manager->context, uid, money_row, &rows);
        if (r < 0 || rows.limit_said || (rows.n > 0 && quota->money.nano == 0))
                return r;
        return money_row(quota->money.currency, 0, &rows);
}

static int quota_rows(Manager *manager, uint32_t uid, const Quota *quota, sd_bus_message *reply) {
        QuotaUsage usage = jobs_usage(&manager->context.jobs, uid, NULL);
        uint64_t disk;
        int r;

        r = ledger_disk(manager->context.ledger, uid, 0, &disk);
        if (r < 0)
                return r;
        r = sd_bus_message_append(reply, "(sstt)(sstt)(sstt)(sstt)(sstt)", "jobs", "", (uint64_t) usage.jobs,
                        (uint64_t) quota->jobs, "running", "", (uint64_t) usage.running,
                        (uint64_t) quota->running, "actors", "", usage.actors, (uint64_t) quota->actors,
                        "memory", "B", usage.memory_bytes, quota->memory_bytes, "disk", "B", disk,
                        quota->disk_bytes);
        return r < 0 ? r : money_rows(manager, uid, quota, reply);
}

int method_get_quota(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        Manager *manager = userdata;
        uint32_t uid, caller;
        Quota quota;
        int r;

        r = sd_bus_message_read(m, "u", &uid);
        if (r < 0)
                return r;
        r = access_uid(&manager->access, m, &caller, error);
        if (r < 0)
                return r;
        /* A waiting call was authorised before it began to wait. */
        r = quota_waits(manager, m)
                            ? 1
                            : access_check(&manager->access, m, ACTION_MANAGE, uid, method_get_quota, error);
        if (r <= 0)
                return r < 0 ? r : 1;
        r = quota_ask(manager, m, caller, uid, method_get_quota, error);
        if (r <= 0)
                return r < 0 ? r : 1;
        if (!users_quota(manager->context.users, uid, &quota))
                return unknown(error, uid);

        r = reply_list(m, "(sstt)", &reply);
        if (r < 0)
                return r;
        r = quota_rows(manager, uid, &quota, reply);
        return r < 0 ? r : reply_send(reply);
}
