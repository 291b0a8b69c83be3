/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A job's turns: from the queue into a place, and, where a rule of the administrator's takes the place
 * away, back into the queue. It ends its life by itself after the round in flight, with a checkpoint, and
 * its next life goes on from there: no work is lost and the policy is the same. */
#include "daemon/job.h"

#include <assert.h>
#include <inttypes.h>
#include "include/launch.h"
#include "lib/boottime.h"
#include "lib/environments.h"

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

/* An evaluation or verification writes no checkpoint, and a directory that only the submitter can open
 * again is not given up. */
bool job_may_go_back(const Job *job) {
        assert(job);

        return (job->state == JOB_STARTING || job->state == JOB_RUNNING) &&
               job->row.purpose == LAUNCH_TRAIN && job->end_wanted == PLAN_END_NOT && !job->backoff &&
               (!environment_directory(&job->settings) || job->directory_fd >= 0);
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
        /* A daemon that was restarted in between does not know it any more. */
        const char *reason = job->back_reason ?: "its place was needed";
        LogEntry entry;

        assert(job);

        (void) manager_commit(job->manager);
        job->row.n_preempted++;
        job->row.back_usec = real_usec();
        job_log_begin(&entry, job, MESSAGE_JOB_PREEMPTED);
        log_field(&entry, "ACTORD_REASON=%s", reason);
        log_field(&entry, "ACTORD_PREEMPTED=%" PRIu64, job->row.n_preempted);
        log_send(&entry, LOG_INFO, "Job %" PRIu64 " goes back to the queue after round %" PRIu64 ": %s.",
                        job->row.id, job->progress.round, reason);

        job_life_clear(job);
        job->progress.ended = false;
        job_set_state(job, JOB_QUEUED);
        (void) job_save(job);
        job_emit_now(job);
        manager_schedule(job->manager);
}
