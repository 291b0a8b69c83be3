/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/places.h"

#include <assert.h>
#include "daemon/hold.h"
#include "daemon/job-distribution.h"
#include "daemon/job-end.h"
#include "daemon/job-life.h"
#include "daemon/job-turn.h"
#include "daemon/job.h"
#include "daemon/queue.h"
#include "daemon/sources.h"
#include "daemon/spending.h"
#include "daemon/users.h"
#include "lib/boottime.h"

/* If nothing else happens, the daemon waits at least this long until it looks at the places again. */
#define LOOK_AGAIN_USEC (200ull * 1000)

typedef struct UserState {
        bool known;
        Quota quota;
        QuotaUsage usage;
        Hold money;
        bool blocked; /* one of the user's jobs waits for room: later ones do not overtake it */
} UserState;

static UserState *user_state(Manager *manager, GHashTable *users, uint32_t uid) {
        UserState *user = g_hash_table_lookup(users, GUINT_TO_POINTER(uid));

        if (user)
                return user;
        user = g_new0(UserState, 1);
        user->known = users_quota(manager->context.users, uid, &user->quota);
        user->usage = jobs_usage(&manager->context.jobs, uid, NULL);
        if (user->known)
                user->money = spending_hold(&manager->context, uid, &user->quota);
        (void) g_hash_table_insert(users, GUINT_TO_POINTER(uid), user);
        return user;
}

static Hold hold_by(const QuotaNeed *need, const UserState *user) {
        if (!user->known)
                return (Hold){ .reason = HOLD_UNKNOWN };
        if (user->money.reason != HOLD_NOTHING)
                return user->money;
        if (user->blocked)
                return (Hold){ .reason = HOLD_TURN };
        return hold_of(&user->quota, &user->usage, need);
}

/* Whether the job waits for a place (MaxJobs=), and not for room in its user's quota. */
static bool waits(Job *job, UserState *user) {
        QuotaNeed need;

        job->hold = (Hold){};
        if (job->state != JOB_QUEUED || job->row.frozen_usec > 0)
                return false;
        need = job_need(job);
        job->hold = hold_by(&need, user);
        user->blocked = job->hold.reason != HOLD_NOTHING;
        if (!user->blocked)
                quota_add(&user->usage, &need);
        return !user->blocked;
}

static GArray *entries_of(Manager *manager) {
        g_autoptr(GHashTable) users = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
        GArray *entries =
                        g_array_sized_new(FALSE, FALSE, sizeof(QueueEntry), manager->context.jobs.all->len);

        JOBS_FOREACH (job, &manager->context.jobs) {
                UserState *user = user_state(manager, users, job->row.uid);

                g_array_append_val(entries, ((QueueEntry){
                                                            .id = job->row.id,
                                                            .uid = job->row.uid,
                                                            .share = user->known ? user->quota.running
                                                                                 : QUEUE_SHARE_UNKNOWN,
                                                            .queued = waits(job, user),
                                                            .running = job_active(job),
                                                            .movable = job_may_go_back(job),
                                                            .leaving = job->back_reason,
                                                            .since_usec = job->turn_usec,
                                            }));
        }
        return entries;
}

static Job *pick(Manager *manager) {
        g_autoptr(GArray) entries = entries_of(manager);
        ssize_t i = queue_pick((const QueueEntry *) (void *) entries->data, entries->len,
                        manager->context.config.max_jobs);

        return i < 0 ? NULL : manager->context.jobs.all->pdata[i];
}

static int on_look(sd_event_source *source, uint64_t usec, void *userdata) {
        Manager *manager = userdata;

        manager->places_timer = sd_event_source_disable_unref(manager->places_timer);
        jobs_schedule(&manager->context.jobs);
        return 0;
}

static void look_again(Manager *manager, uint64_t wait_usec) {
        manager->places_timer = sd_event_source_disable_unref(manager->places_timer);
        if (wait_usec < UINT64_MAX)
                (void) timer_start(manager->context.event, &manager->places_timer, "places",
                                MAX(wait_usec, LOOK_AGAIN_USEC), on_look, manager);
}

/* Why the daily limit of its user's spending sends a running job back to the queue; NULL: it does not.
 * Either the limit is reached, or it is in another currency than the job's price sheet. In the second case
 * the job ends in the queue. */
static const char *overspends(const Job *job, const UserState *user) {
        const setting_money *money = &user->quota.money;

        if (user->money.reason != HOLD_NOTHING)
                return "its user's jobs have reached the limit of today's spending (MaxMoneyPerDayPerUser=)";
        if (user->known && money->nano > 0 &&
                        !g_str_equal(money->currency, price_sheet_currency(job->sheet)))
                return "its user's money a day is in another currency than its price sheet "
                       "(MaxMoneyPerDayPerUser=)";
        return NULL;
}

static void send_back(Manager *manager) {
        g_autoptr(GHashTable) users = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);

        JOBS_FOREACH (job, &manager->context.jobs) {
                const char *reason;

                if (job->back_reason || !job_may_go_back(job))
                        continue;
                reason = job->row.frozen_usec > 0
                                         ? JOB_FROZEN_REASON
                                         : overspends(job, user_state(manager, users, job->row.uid));
                if (reason)
                        job_go_back(job, reason);
        }
}

/* The time until the end of the day, but at most SPENDING_LOOK_USEC, if queued jobs are held because their
 * user has spent the day's money; otherwise UINT64_MAX. */
static uint64_t wait_for_day(const Manager *manager) {
        uint64_t now = (uint64_t) g_get_real_time(), wait = UINT64_MAX;

        JOBS_FOREACH (job, &manager->context.jobs) {
                const Hold *hold = &job->hold;

                if (hold->reason == HOLD_MONEY)
                        wait = MIN(wait, hold->until_usec > now ? hold->until_usec - now : 0);
        }
        return wait == UINT64_MAX ? wait : MIN(wait, SPENDING_LOOK_USEC);
}

static void preempt(Manager *manager) {
        uint64_t wait = UINT64_MAX;

        while (manager->context.config.preempt) {
                g_autoptr(GArray) entries = entries_of(manager);
                ssize_t i = queue_preempt((const QueueEntry *) (void *) entries->data, entries->len,
                                manager->context.config.max_jobs, manager->context.config.preempt_after_usec,
                                clock_boottime() / 1000, &wait);

                if (i < 0)
                        break;
                job_go_back(manager->context.jobs.all->pdata[i],
                                "another user waits, and the jobs of this user take more than their share");
        }
        look_again(manager, MIN(wait, wait_for_day(manager)));
}

/* Refuses jobs that could never run under the current configuration, which may have changed since they were
 * submitted. */
static void refuse(Manager *manager) {
        JOBS_FOREACH (job, &manager->context.jobs) {
                g_autofree char *never = NULL, *sentence = NULL;
                QuotaNeed need;
                Quota quota;

                if (job->state != JOB_QUEUED || !users_quota(manager->context.users, job->row.uid, &quota))
                        continue;
                need = job_need(job);
                never = hold_never(&quota, &need, &job->settings, price_sheet_currency(job->sheet));
                if (!never || job_prepare_end(job) < 0)
                        continue;
                sentence = g_strdup_printf("it cannot run any more: %s", never);
                job_end_queued(job, PLAN_END_FAILED, sentence);
        }
}

static bool is_same(const Hold *a, const Hold *b) {
        return a->reason == b->reason && a->beside == b->beside && a->limit == b->limit &&
               a->until_usec == b->until_usec;
}

static void say_holds(Manager *manager, const GArray *before) {
        guint i = 0;

        JOBS_FOREACH (job, &manager->context.jobs) {
                if (!is_same(&job->hold, &g_array_index(before, Hold, i++)))
                        job_changed(job, JOB_CHANGE_STATE);
        }
}

static GArray *holds_of(const Manager *manager) {
        GArray *holds = g_array_sized_new(FALSE, FALSE, sizeof(Hold), manager->context.jobs.all->len);

        JOBS_FOREACH (job, &manager->context.jobs)
                g_array_append_val(holds, job->hold);
        return holds;
}

void places_fill(Manager *manager) {
        g_autoptr(GArray) before = NULL;
        Job *job;

        assert(manager);

        if (manager->stopping)
                return;
        before = holds_of(manager);
        refuse(manager);
        send_back(manager);
        while ((job = pick(manager)))
                job_start(job);
        preempt(manager);
        say_holds(manager, before);
}
