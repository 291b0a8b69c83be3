/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds an invoker that hangs. An invoker sleeps until something happens, so silence alone means nothing.
 * After a while of silence the daemon asks it for an answer. If no answer comes, the invoker hangs, and its
 * life is over. Some events, such as an invoker's end, have a deadline; after the deadline the invoker is
 * killed. The time for an answer counts only while the daemon runs: after a sleep of the host or a stop of
 * the daemon, the daemon asks again. A deadline goes on while the daemon is stopped, since the invoker may
 * work then, but not while the host sleeps. */
#include "daemon/commit.h"
#include "daemon/job-watch.h"

#include <assert.h>
#include <signal.h>
#include <sys/pidfd.h>
#include "daemon/sources.h"
#include "lib/patience.h"

#define FLOOR_USEC  (INVOKER_PATIENCE_MSEC * 1000ull)
#define ABSENT_USEC (2ull * 1000 * 1000) /* if a timer fires later than this, the daemon was stopped */
#define TICK_USEC   (100ull * 1000)      /* the shortest time between two checks of the invoker */

static uint64_t now_usec(const Job *job) {
        uint64_t usec = 0;

        (void) sd_event_now(job->context->event, CLOCK_MONOTONIC, &usec);
        return usec;
}

static uint64_t limit_usec(const Job *job) {
        uint64_t set_usec = job->context->config.invoker_timeout_usec;

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

        /* No plan was sent yet, so the invoker owes no answer. */
        if (plan.abi != PLAN_ABI || job->link_over)
                return;
        plan.ask = 1;
        (void) plan_link_send(job->link, &plan);
        job->watch_asked_usec = now;
}

static int on_tick(sd_event_source *source, uint64_t usec, void *userdata) {
        Job *job = userdata;
        uint64_t now = now_usec(job);

        if (now - usec >= ABSENT_USEC)
                job->watch_asked_usec = 0;
        if (job->watch_asked_usec > 0 && now - job->watch_asked_usec >= limit_usec(job)) {
                job->silent_usec = now - job->watch_asked_usec;
                job->watch = sd_event_source_disable_unref(job->watch);
                job_look(job);
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
        if (sd_event_add_time_relative(job->context->event, &job->watch, CLOCK_MONOTONIC, tick_usec(job), 0,
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

/* Whether the invoker may be silent because it waits: the ledger does not take its records, its last
 * checkpoint cannot be written, or its learner works. The invoker itself has a deadline for the learner. */
static bool is_kept_waiting(const Job *job) {
        bool read_to_its_end = job->progress.ended && job->progress.life == job->row.life;
        bool waits_for_us = job->has_held || job_has_unread(job) ||
                            (job->link && job->acknowledged < plan_link_position(job->link));

        return (job->waits_checkpoint > 0 && !job->end.noted) || job_learner_ends(job) ||
               (waits_for_us && (read_to_its_end || job->context->ledger_blocked));
}

static int on_deadline(sd_event_source *source, uint64_t usec, void *userdata) {
        Job *job = userdata;
        bool is_gone = job->exited || job->pid_fd < 0;
        bool may_wait = !job->exited && !job->life_error;

        job->deadline = sd_event_source_disable_unref(job->deadline);
        /* The invoker waits because the daemon cannot write its records, because its checkpoint could not be
         * written, or for its learner. It gets more time for that while its answers come and are valid. */
        if (may_wait && is_kept_waiting(job)) {
                job->was_kept = true;
                job_arm_deadline(job, COMMIT_RETRY_USEC, job->deadline_what);
                return 0;
        }
        /* The invoker waits for nothing any more. From now on it has EXIT_TIMEOUT_USEC to write its last
         * checkpoint and to end. */
        if (may_wait && job->was_kept) {
                job->was_kept = false;
                job_arm_deadline(job, EXIT_TIMEOUT_USEC, job->deadline_what);
                return 0;
        }
        if (job->deadline_what && !job->life_error)
                job->life_error = g_strdup(job->deadline_what);
        /* When the invoker is killed, its socket closes and its exit is seen. If it cannot be killed, or the
         * kill has no effect, the daemon goes on without the invoker. */
        if (!is_gone && !job->kill_tried && pidfd_send_signal(job->pid_fd, SIGKILL, NULL, 0) >= 0) {
                job->kill_tried = true;
                job_arm_deadline(job, EXIT_TIMEOUT_USEC, NULL);
                return 0;
        }
        if (!is_gone)
                job_say_leftover(job, "its invoker neither ends nor can be killed");
        /* Drops a launch that was not answered: an answer would come too late. */
        if (!job->settling.asked)
                job->launch = launch_call_free(job->launch);
        job->link_over = job->exited = true;
        job_look(job);
        return 0;
}

void job_arm_deadline(Job *job, uint64_t usec, const char *what) {
        assert(job);

        job->deadline_what = what;
        (void) deadline_start(job->context->event, &job->deadline, "job-deadline", usec, on_deadline, job);
}
