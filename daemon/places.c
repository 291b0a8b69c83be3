/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/places.h"

#include <assert.h>
#include "daemon/job.h"
#include "daemon/queue.h"
#include "daemon/quota.h"
#include "lib/boottime.h"

/* A job that has just begun to run is looked at again after this time at the earliest. */
#define LOOK_AGAIN_USEC (200ull * 1000)

typedef struct UserState {
        Quota quota;
        QuotaUsage usage;
        bool blocked; /* one of its jobs waits for room: none that came later passes it */
} UserState;

static UserState *user_state(Manager *manager, GHashTable *users, uint32_t uid) {
        UserState *user = g_hash_table_lookup(users, GUINT_TO_POINTER(uid));

        if (user)
                return user;
        user = g_new0(UserState, 1);
        user->quota = quota_of(manager, uid);
        user->usage = quota_usage(manager, uid);
        (void) g_hash_table_insert(users, GUINT_TO_POINTER(uid), user);
        return user;
}

/* Whether it waits for a place, and not for room in its user's quota. */
static bool waits(const Job *job, UserState *user) {
        if (job->state != JOB_QUEUED || user->blocked)
                return false;
        user->blocked = !quota_has_room(&user->quota, &user->usage, &job->settings);
        if (!user->blocked)
                quota_add(&user->usage, &job->settings);
        return !user->blocked;
}

static GArray *entries_of(Manager *manager) {
        g_autoptr(GHashTable) users = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
        GArray *entries = g_array_sized_new(FALSE, FALSE, sizeof(QueueEntry), manager->jobs->len);

        for (guint i = 0; i < manager->jobs->len; i++) {
                const Job *job = manager->jobs->pdata[i];
                UserState *user = user_state(manager, users, job->row.uid);

                g_array_append_val(entries, ((QueueEntry){
                                                            .id = job->row.id,
                                                            .uid = job->row.uid,
                                                            .share = user->quota.running,
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
        ssize_t i = queue_pick(
                        (const QueueEntry *) (void *) entries->data, entries->len, manager->config.max_jobs);

        return i < 0 ? NULL : manager->jobs->pdata[i];
}

static int on_look(sd_event_source *source, uint64_t usec, void *userdata) {
        Manager *manager = userdata;

        manager->places_timer = sd_event_source_disable_unref(manager->places_timer);
        manager_schedule(manager);
        return 0;
}

static void look_again(Manager *manager, uint64_t wait_usec) {
        manager->places_timer = sd_event_source_disable_unref(manager->places_timer);
        if (wait_usec == UINT64_MAX)
                return;
        if (sd_event_add_time_relative(manager->event, &manager->places_timer, CLOCK_BOOTTIME,
                            MAX(wait_usec, LOOK_AGAIN_USEC), 0, on_look, manager) >= 0)
                (void) sd_event_source_set_description(manager->places_timer, "places");
}

static void preempt(Manager *manager) {
        uint64_t wait = UINT64_MAX;

        while (manager->config.preempt) {
                g_autoptr(GArray) entries = entries_of(manager);
                ssize_t i = queue_preempt((const QueueEntry *) (void *) entries->data, entries->len,
                                manager->config.max_jobs, manager->config.preempt_after_usec,
                                clock_boottime() / 1000, &wait);

                if (i < 0)
                        break;
                job_go_back(manager->jobs->pdata[i],
                                "another user waits, and this job is beyond its user's share");
        }
        look_again(manager, wait);
}

void places_fill(Manager *manager) {
        Job *job;

        assert(manager);

        if (manager->stopping)
                return;
        while ((job = pick(manager)))
                job_start(job);
        preempt(manager);
}
