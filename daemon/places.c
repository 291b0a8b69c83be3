/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/places.h"

#include <assert.h>
#include "daemon/job.h"
#include "daemon/queue.h"
#include "lib/boottime.h"

/* A job that has just begun to run is looked at again after this time at the earliest. */
#define LOOK_AGAIN_USEC (200ull * 1000)

static GArray *entries_of(const Manager *manager) {
        GArray *entries = g_array_sized_new(FALSE, FALSE, sizeof(QueueEntry), manager->jobs->len);

        for (guint i = 0; i < manager->jobs->len; i++) {
                const Job *job = manager->jobs->pdata[i];

                g_array_append_val(entries, ((QueueEntry){
                                                            .id = job->row.id,
                                                            .uid = job->row.uid,
                                                            .share = manager->config.max_running_user,
                                                            .queued = job->state == JOB_QUEUED,
                                                            .running = job_active(job),
                                                            .movable = job_may_go_back(job),
                                                            .leaving = job->back_reason,
                                                            .since_usec = job->turn_usec,
                                            }));
        }
        return entries;
}

static Job *pick(const Manager *manager) {
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
