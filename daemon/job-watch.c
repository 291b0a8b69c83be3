/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A life's invoker is asked for a word when it has said nothing for a while. It sleeps until something
 * happens, so that silence means nothing; only one that does not answer is hung, and its life is over.
 * Time is this process's own: neither while the host sleeps nor while the daemon is stopped can anybody
 * be late. */
#include "daemon/job.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "lib/patience.h"

#define FLOOR_USEC  (30ull * 1000 * 1000)
#define ABSENT_USEC (2ull * 1000 * 1000) /* who hears a timer so late was stopped */
#define TICK_USEC   (100ull * 1000)      /* no more often */

static uint64_t now_usec(const Job *job) {
        uint64_t usec = 0;

        (void) sd_event_now(job->manager->event, CLOCK_MONOTONIC, &usec);
        return usec;
}

static uint64_t limit_usec(const Job *job) {
        uint64_t set_usec = job->manager->config.invoker_timeout_usec;

        if (set_usec != TIMEOUT_AS_SEEN)
                return set_usec;
        return patience_nsec(job->watch_slowest_usec * 1000, FLOOR_USEC * 1000) / 1000;
}

static uint64_t tick_usec(const Job *job) {
        uint64_t usec = limit_usec(job) / 4;

        return usec > TICK_USEC ? usec : TICK_USEC;
}

static void ask(Job *job, uint64_t now) {
        Plan plan = job->plan;

        /* Nothing was sent yet: there is nothing to answer. */
        if (plan.abi != PLAN_ABI || job->link_over)
                return;
        plan.ask = 1;
        (void) plan_link_send(job->link, &plan);
        job->watch_asked_usec = now;
}

static void give_up(Job *job, uint64_t silent_usec) {
        /* What it wrote before it fell silent counts. */
        (void) job_read(job);
        job->watch = sd_event_source_disable_unref(job->watch);
        if (job->life_error || job->link_over)
                return;
        job->life_error = g_strdup_printf("its invoker did not answer for %" PRIu64
                                          " s (InvokerTimeoutSec= of actord.conf)",
                        silent_usec / 1000000);
        job_arm_deadline(job, 0, NULL);
}

static int on_tick(sd_event_source *source, uint64_t usec, void *userdata) {
        Job *job = userdata;
        uint64_t now = now_usec(job);

        if (now - usec >= ABSENT_USEC)
                job->watch_asked_usec = 0;
        if (job->watch_asked_usec > 0 && now - job->watch_asked_usec >= limit_usec(job)) {
                give_up(job, now - job->watch_asked_usec);
                return 0;
        }
        if (job->watch_asked_usec == 0)
                ask(job, now);
        (void) sd_event_source_set_time(source, now + tick_usec(job));
        (void) sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
        return 0;
}

void job_watch_start(Job *job) {
        assert(job);

        if (job->watch || limit_usec(job) == 0)
                return;
        if (sd_event_add_time_relative(job->manager->event, &job->watch, CLOCK_MONOTONIC, tick_usec(job), 0,
                            on_tick, job) >= 0)
                (void) sd_event_source_set_description(job->watch, "invoker-watch");
}

void job_watch_heard(Job *job) {
        uint64_t took;

        assert(job);

        if (job->watch_asked_usec == 0)
                return;
        took = now_usec(job) - job->watch_asked_usec;
        if (took > job->watch_slowest_usec)
                job->watch_slowest_usec = took;
        job->watch_asked_usec = 0;
}
