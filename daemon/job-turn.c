/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A job's turns: from the queue into a place (one of MaxJobs=), and back into the queue if a rule of the
 * administrator takes the place away or a user freezes the job. The life ends by itself after the round in
 * flight, with a checkpoint, and the next life goes on from there: no work is lost and the policy is the
 * same. */
#include "daemon/commit.h"
#include "daemon/job-end.h"
#include "daemon/job-records.h"
#include "daemon/job-turn.h"
#include "daemon/job-watch.h"

#include <assert.h>
#include <inttypes.h>
#include "daemon/sources.h"
#include "include/launch.h"
#include "lib/boottime.h"
#include "lib/environments.h"
#include "lib/saturate.h"

#define STOP_TIMEOUT_USEC (5ull * 1000 * 1000)

static uint64_t real_usec(void) {
        return (uint64_t) g_get_real_time();
}

void job_turn_begin(Job *job) {
        uint64_t now = real_usec();

        assert(job);

        job->turn_usec = clock_boottime() / 1000;
        if (job->row.back_usec == 0)
                return;
        job->row.paused_usec += now > job->row.back_usec ? now - job->row.back_usec : 0;
        job->row.back_usec = 0;
}

void job_go_back(Job *job, const char *reason) {
        assert(job);
        assert(reason);

        if (job->back_reason)
                return;
        job->back_reason = reason;
        job_send_plan(job);
}

void job_requeue(Job *job) {
        /* The job's back_reason, which is not known after a restart of the daemon. */
        const char *reason;
        LogEntry entry;

        assert(job);

        reason = job->back_reason ?: "its place was needed";
        if (job->row.frozen_usec > 0)
                reason = JOB_FROZEN_REASON;
        (void) commit_now(job->context);
        job->row.n_preempted++;
        /* RuntimeMaxSec= counts from the first start, so only time in the queue after that start is
         * noted. */
        job->row.back_usec = job->row.started_usec > 0 ? real_usec() : 0;
        job_log_begin(&entry, job, MESSAGE_JOB_PREEMPTED);
        log_field(&entry, "ACTORD_REASON=%s", reason);
        log_field(&entry, "ACTORD_PREEMPTED=%" PRIu64, job->row.n_preempted);
        log_send(&entry, LOG_INFO, "Job %" PRIu64 " goes back to the queue after round %" PRIu64 ": %s.",
                        job->row.id, job->progress.round, reason);

        job_life_clear(job);
        job->progress.ended = false;
        job_set_state(job, JOB_QUEUED);
        (void) job_save(job);
        jobs_schedule(&job->context->jobs);
}

int job_freeze(Job *job) {
        LogEntry entry;

        assert(job);

        if (job->state == JOB_ENDED || job->end.noted || job->row.end_wanted != PLAN_END_NOT)
                return -ESRCH;
        if (!job_can_resume(job))
                return -EOPNOTSUPP;
        if (job->row.frozen_usec > 0)
                return 0;

        job->row.frozen_usec = real_usec();
        job_log_begin(&entry, job, MESSAGE_JOB_FROZEN);
        log_field(&entry, "ACTORD_REASON=%s", JOB_FROZEN_REASON);
        log_send(&entry, LOG_INFO,
                        job->state == JOB_QUEUED ? "Job %" PRIu64 " stays in the queue: %s."
                                                 : "Job %" PRIu64 " goes back to the queue after the "
                                                   "round in flight, and stays there: %s.",
                        job->row.id, JOB_FROZEN_REASON);
        job_changed(job, JOB_CHANGE_STATE | JOB_CHANGE_NOW);
        (void) job_save(job);
        if (job->backoff)
                job_requeue(job);
        jobs_schedule(&job->context->jobs);
        return 0;
}

int job_thaw(Job *job) {
        LogEntry entry;

        assert(job);

        if (job->state == JOB_ENDED || job->end.noted || job->row.end_wanted != PLAN_END_NOT)
                return -ESRCH;
        if (job->row.frozen_usec == 0)
                return 0;

        job->row.frozen_usec = 0;
        job_log_begin(&entry, job, MESSAGE_JOB_THAWED);
        log_send(&entry, LOG_INFO, "Job %" PRIu64 " may go on: a user thawed it.", job->row.id);
        job_changed(job, JOB_CHANGE_STATE | JOB_CHANGE_NOW);
        (void) job_save(job);
        jobs_schedule(&job->context->jobs);
        return 0;
}

/* Ends a life without its last checkpoint: it cannot be written, so that the invoker would try for ever, or
 * the learner takes long. */
static void leave_checkpoint(Job *job) {
        (void) job_read(job);
        if (job->life_error)
                return;
        if (job->waits_checkpoint > 0)
                job->life_error = g_strdup_printf("it was given up when its last checkpoint could not be "
                                                  "written (%s)",
                                g_strerror(job->waits_checkpoint));
        else if (job->was_kept && job_learner_ends(job))
                job->life_error = g_strdup("it was given up before its learner had finished what it had "
                                           "begun");
        else
                return;
        job_arm_deadline(job, 0, NULL);
}

void job_ask_to_end(Job *job) {
        assert(job);
        assert(job->row.end_wanted != PLAN_END_NOT);

        job->stop_deadline_nsec = clock_boottime() + STOP_TIMEOUT_USEC * 1000;
        if (job->state == JOB_RUNNING)
                job_set_state(job, JOB_ENDING);
        job_send_plan(job);
        job_arm_deadline(job, STOP_TIMEOUT_USEC + EXIT_TIMEOUT_USEC, NULL);
}

int job_stop(Job *job, uint32_t end, const char *reason) {
        LogEntry entry;
        int r;

        assert(job);
        assert(end != PLAN_END_NOT && end < _PLAN_END_MAX);

        if (job->state == JOB_ENDED)
                return -ESRCH;
        if (job->end.noted)
                return 0;
        if (job->row.end_wanted != PLAN_END_NOT) {
                /* A second request to stop gives up the last checkpoint, if the job waits for it. In run
                 * mode the D-Bus method KeepRest() does that. */
                if (job->context->mode != DAEMON_RUN)
                        leave_checkpoint(job);
                return 0;
        }

        r = job_prepare_end(job);
        if (r < 0)
                return r;

        job->row.end_wanted = end;
        job_log_begin(&entry, job, MESSAGE_JOB_STOPPING);
        log_field(&entry, "ACTORD_REASON=%s", reason);
        log_send(&entry, LOG_INFO, "Job %" PRIu64 " was asked to end: %s.", job->row.id, reason);

        if (job->state == JOB_QUEUED || job->backoff) {
                job_end_queued(job, end, NULL);
                return 0;
        }
        /* Saves the request first: if the daemon is killed before the invoker has read it, the next daemon
         * repeats it. */
        (void) job_save(job);
        job_ask_to_end(job);
        return 0;
}

static int on_runtime(sd_event_source *source, uint64_t usec, void *userdata) {
        Job *job = userdata;
        LogEntry entry;
        int r;

        /* What the job's end needs is loaded before the end is announced. */
        r = job_prepare_end(job);
        if (r < 0)
                return timer_start(job->context->event, &job->runtime_timer, "runtime-max",
                                COMMIT_RETRY_USEC, on_runtime, job);
        job_log_begin(&entry, job, MESSAGE_RUNTIME_EXCEEDED);
        log_send(&entry, LOG_NOTICE, "Job %" PRIu64 " has reached RuntimeMaxSec= and is stopped.",
                        job->row.id);
        (void) job_stop(job, PLAN_END_RUNTIME, "RuntimeMaxSec= is over");
        return 0;
}

uint64_t runtime_left_usec(const LedgerJob *row, uint64_t most_usec, uint64_t now_usec) {
        uint64_t began, gone;

        assert(row);

        /* The host's clock may have been set back since the job's start. */
        began = saturating_add(row->started_usec, row->paused_usec);
        gone = now_usec > began ? now_usec - began : 0;
        return gone < most_usec ? most_usec - gone : 0;
}

void job_arm_runtime(Job *job) {
        assert(job);

        if (!settings_present(&job->settings, SETTING_Job_RuntimeMaxSec) || job->runtime_timer ||
                        job->row.started_usec == 0)
                return;
        (void) timer_start(job->context->event, &job->runtime_timer, "runtime-max",
                        runtime_left_usec(&job->row, job->settings.runtime_max_usec, real_usec()),
                        on_runtime, job);
}
