/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decides what comes next for a job. Event sources of other files note facts (the invoker's process is gone,
 * the spawner has answered, a commit succeeded) and return.
 *
 * All ends take one path. A job has lives. When its invoker or learner dies, the life is over: its remaining
 * records are read, its usage is settled (job-settle.c), and the next life goes on from the newest
 * checkpoint whose file is whole. The job itself is over when its last record says so, when it was asked to
 * end, when another life would fail in the same way, or when LIVES_MAX lives in a row have brought no
 * checkpoint. A verification has one life only. */
#include "daemon/commit.h"
#include "daemon/job-alert.h"
#include "daemon/job-end.h"
#include "daemon/job-life.h"
#include "daemon/job-records.h"
#include "daemon/job-settle.h"
#include "daemon/job-step.h"

#include <assert.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "daemon/descriptors.h"
#include "daemon/disk.h"
#include "daemon/files.h"
#include "daemon/job-turn.h"
#include "daemon/job-watch.h"
#include "daemon/sources.h"
#include "include/bus.h"
#include "lib/cleanup.h"
#include "lib/limits.h"
#include "lib/string-tables.h"

#define LIVES_MAX          5u /* lives in a row without a new checkpoint */
#define BACKOFF_FIRST_USEC (50ull * 1000)

static void remove_runtime_files(Job *job) {
        char name[32];

        (void) snprintf(name, sizeof(name), "%" PRIu64 ".sock", job->row.id);
        (void) unlinkat(job->context->sockets_fd, name, 0);
        job_answer_forget(job);
}

static void say_end(const Job *job) {
        const char *result = plan_end_to_string(job->end.end), *currency = price_sheet_currency(job->sheet);
        const char *sentence = job->end.sentence;
        LogEntry entry;
        Bill bill;

        bill_make(&job->progress.usage, job->sheet, &job->settings, &bill);
        job_log_begin(&entry, job, job->end.end == PLAN_END_FAILED ? MESSAGE_JOB_FAILED : MESSAGE_JOB_ENDED);
        log_field(&entry, "ACTORD_RESULT=%s", result);
        log_field(&entry, "ACTORD_REASON=%s", sentence ? sentence : result);
        log_field(&entry, "ACTORD_ENV_STEPS=%" PRIu64, job->progress.statistics.n_env_steps);
        log_field(&entry, "ACTORD_COST_FULL=%.9f", bill.full);
        log_field(&entry, "ACTORD_COST_PAPER=%.9f", bill.paper);
        log_field(&entry, "ACTORD_CURRENCY=%s", currency);
        if (job->end.end == PLAN_END_FAILED)
                log_send(&entry, LOG_WARNING, "Job %" PRIu64 " failed: %s.", job->row.id, sentence);
        else
                log_send(&entry, LOG_INFO, "Job %" PRIu64 " ended: %s, %" PRIu64 " steps, %.9f %s.",
                                job->row.id, result, job->progress.statistics.n_env_steps, bill.full,
                                currency);
}

static bool has_life(const Job *job) {
        return job->link && (!job->link_over || !job->exited);
}

static void remove_files(Job *job) {
        JobContext *context = job->context;

        /* The life's unit and cgroup are gone, so the row must not name them any more. */
        job->answer = (LaunchAnswer){};
        job_life_clear(job);
        job_file_remove(context->jobs_fd, job->row.id, BUS_FILE_ENVIRONMENT);
        job_file_remove(context->jobs_fd, job->row.id, BUS_FILE_CHECKPOINT);
        job_file_remove(context->jobs_fd, job->row.id, BUS_FILE_DATASET);
        job_file_remove(context->jobs_fd, job->row.id, "state/" CHECKPOINT_RESERVE);
        job->stderr_fd = close_fd(job->stderr_fd);
        directories_forget(job);
        directories_drop(&job->directories);
        /* The file of the launch is removed last: while it exists, the next daemon knows that the other
         * files may exist as well. */
        remove_runtime_files(job);
}

/* Announces the end of the job, which is in the ledger by now. */
static void announce(Job *job) {
        JobContext *context = job->context;

        job->row.ended_usec = job->end.usec;
        free(job->row.result);
        job->row.result = strdup(plan_end_to_string(job->end.end));
        memcpy(job->row.policy_sha256, job->end.policy_sha256, sizeof(job->row.policy_sha256));
        job->row.has_policy = job->end.has_policy;
        if (job->end.sentence)
                job_set_fault(job, job->end.sentence);
        remove_files(job);
        disk_count(context, job->row.id);
        say_end(job);
        job_start_unit(job);
        job_set_state(job, JOB_ENDED);
        job->changes |= JOB_CHANGE_REMOVED;
        jobs_schedule(&context->jobs);
}

/* The job has ended when the ledger has its end, its invoker is gone and its cgroup is removed. */
static void end_check(Job *job) {
        if (!job->end.durable || job->state == JOB_ENDED)
                return;
        if (has_life(job))
                job_arm_deadline(job, EXIT_TIMEOUT_USEC, NULL);
        else if (job_clear_away(job))
                announce(job);
}

static void say_resumed(const Job *job, const char *sentence) {
        LogEntry entry;

        job_log_begin(&entry, job, MESSAGE_JOB_RESUMED);
        log_field(&entry, "ACTORD_REASON=%s", sentence);
        log_send(&entry, LOG_WARNING, "Job %" PRIu64 " goes on in life %" PRIu64 ": %s.", job->row.id,
                        job->row.life + 1, sentence);
}

static void begin_next_life(Job *job, uint64_t wait_usec) {
        job_life_clear(job);
        job_set_state(job, JOB_STARTING);
        if (job_start_later(job, "next-life", wait_usec) < 0) {
                job_finish(job, PLAN_END_FAILED, "there was no memory for a timer");
                return;
        }
        job_arm_runtime(job);
}

/* Whether the life failed because the host lacked something for a time. Always false for a life that has
 * completed a round, and for a job that has completed none, and so has no work to lose. */
static bool lacked(const Job *job) {
        return job->progress.life == job->row.life && progress_lacked(&job->progress);
}

/* A checkpoint is progress. Lives that leave none are counted, and each waits a little longer before it
 * begins. A life that failed because the host lacked something says nothing about the job, and is not
 * counted. */
static void life_failed(Job *job, const char *sentence) {
        bool lacks = lacked(job);
        uint64_t n_lacking = job->progress.n_lacking;
        g_autofree char *copy = g_strdup_printf("%s%s", sentence, lacks ? "; actord tries again" : "");
        uint64_t n_barren = job->row.life - job->progress.checkpoint_life - n_lacking;
        uint64_t wait = BACKOFF_FIRST_USEC << (n_barren < 8 ? n_barren : 8);

        if (job->row.end_wanted != PLAN_END_NOT) {
                /* It ends as it was told to, but without its last checkpoint. */
                job_finish(job, job->row.end_wanted, sentence);
                return;
        }
        if (job->row.purpose == LAUNCH_VERIFY || (n_barren >= LIVES_MAX && !lacks)) {
                job_finish(job, PLAN_END_FAILED, copy);
                return;
        }
        if (lacks)
                wait = job_delay_usec(n_lacking > 0 ? n_lacking - 1 : 0);

        say_resumed(job, copy);
        job_set_fault(job, copy);
        if (job->back_reason)
                job_requeue(job);
        else
                begin_next_life(job, wait);
}

/* Handles the end of a life whose invoker has ended without a report. The message names a possible cause. */
static void life_failed_unsaid(Job *job) {
        g_autofree char *sentence = g_strconcat(
                        "its invoker ended without a last report", limit_signal_advice(SIGKILL), NULL);

        life_failed(job, sentence);
}

/* Decides what follows a life that has written its last record, perhaps before the daemon was restarted. */
static void ended(Job *job) {
        const Progress *p = &job->progress;
        char sentence[320];

        if (job_end_by_records(job))
                return;
        if (p->end == PLAN_END_REDISTRIBUTED)
                begin_next_life(job, BACKOFF_FIRST_USEC);
        else if (p->end == PLAN_END_PREEMPTED)
                job_requeue(job);
        else
                life_failed(job, fault_sentence_of(p->end_actor, p->end_fault, p->end_detail, sentence));
}

static void life_check(Job *job) {
        if (job->end.noted) {
                end_check(job);
                return;
        }
        if (job->state == JOB_QUEUED || job->backoff)
                return;
        if (!job->link_over || !job->exited) {
                /* The end of the connection and the exit of the process are two signs that the invoker is
                 * gone. After the first sign the daemon waits for the other one, but not for long. */
                if (job->link_over || job->exited)
                        job_arm_deadline(job, EXIT_TIMEOUT_USEC, NULL);
                return;
        }

        /* The spool, shared memory with records, outlives the invoker that wrote it. */
        if (!job->disbelieved && job_read(job) < 0)
                job->disbelieved = true;
        if (job->end.noted)
                return;
        if (job_has_unread(job) || job_offer_held(job) < 0 || (job_settle(job) && job_offer_held(job) < 0)) {
                /* The ledger is blocked. Nothing is decided before the ledger has all records of the
                 * life. */
                job_arm_deadline(job, COMMIT_RETRY_USEC, NULL);
                return;
        }
        if (!job->settling.closed)
                return;
        if (commit_now(job->context) < 0) {
                job_arm_deadline(job, COMMIT_RETRY_USEC, NULL);
                return;
        }
        job_settle_note(job);

        if (job->progress.ended && job->progress.life == job->row.life)
                ended(job);
        else if (job->life_hopeless)
                job_give_up(job, job->life_error);
        else if (job->life_error)
                life_failed(job, job->life_error);
        else
                life_failed_unsaid(job);
}

/* Ends a life whose invoker does not answer, after reading the records that it has written. */
static void leave_silent(Job *job) {
        (void) job_read(job);
        if (job->life_error || job->link_over)
                return;
        job->life_error = g_strdup_printf("its invoker did not answer for %" PRIu64
                                          " s (InvokerTimeoutSec= of actord.conf)",
                        job->silent_usec / 1000000);
        job_arm_deadline(job, 0, NULL);
}

/* Counts the bytes of the job's files at each checkpoint, and once after the first round of a life, since
 * the life has then reserved the space for its last checkpoint. */
static void count_files(Job *job) {
        bool has_round = job->progress.life == job->row.life && job->progress.round > job->resume_round;

        if (job->durable_round > 0)
                disk_prune(job);
        else if (has_round && !job->files_counted)
                disk_count(job->context, job->row.id);
        else
                return;
        job->files_counted = true;
        job->durable_round = 0;
}

static void committed(Job *job) {
        count_files(job);
        job_send_plan(job);
        job_alert(job);
        if (job->end.noted && !job->end.queued) {
                job_queue_end(job);
                commit_soon(job->context);
        }
}

void job_step(Job *job) {
        unsigned news;

        assert(job);

        news = job->news;
        job->news = 0;
        if (news & JOB_NEWS_COMMIT)
                committed(job);
        if (job->silent_usec > 0)
                leave_silent(job);
        job->silent_usec = 0;
        if (news & JOB_NEWS_LIFE)
                life_check(job);
}

void job_leave(Job *job) {
        char sentence[320];

        assert(job);

        if (job->state == JOB_ENDED || job->end.noted)
                return;
        if (!job->disbelieved)
                (void) job_read(job);
        if (job->end.noted || (job->progress.ended && job->progress.life == job->row.life &&
                                              job_end_by_records(job)))
                return;
        job_settle_blindly(job);
        if (job->waits_checkpoint > 0)
                (void) snprintf(sentence, sizeof(sentence),
                                "it was given up when its last checkpoint could not be written (%s)",
                                strerror(job->waits_checkpoint));
        job_finish(job, job->row.end_wanted != PLAN_END_NOT ? job->row.end_wanted : PLAN_END_INTERRUPTED,
                        job->waits_checkpoint > 0 ? sentence : "its daemon ended before the job did");
}
