/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Takes the records that a running job's invoker has written to the spool. Each record goes to the ledger
 * first, and then into the job's progress. After the next commit the invoker is told that the record is
 * durable. When the ledger refuses a record, the daemon keeps it and reads no later one, so the order stays.
 * From the progress follows the next plan, which says which rounds the job may begin. */
#include "daemon/commit.h"
#include "daemon/job-distribution.h"
#include "daemon/job-end.h"
#include "daemon/job-records.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "daemon/disk.h"
#include "daemon/job-schedule.h"
#include "daemon/job-watch.h"
#include "daemon/lease.h"
#include "daemon/spending.h"
#include "include/sandbox.h"
#include "lib/boottime.h"
#include "lib/string-tables.h"

/* At this many uncommitted records the daemon commits. It is much less than the spool holds, so that the
 * invoker need not wait for room. */
#define PENDING_MAX (SPOOL_RECORDS / 4)

static void say_started(Job *job) {
        g_auto(GStrv) limits = job_limits_missing(job);
        g_autofree char *words = g_strjoinv(" ", limits);
        const char *level = sandbox_level_to_string(job->progress.level);
        LogEntry entry;

        job_log_begin(&entry, job, MESSAGE_JOB_RUNNING);
        log_field(&entry, "ACTORD_SANDBOX=%s", level);
        log_field(&entry, "ACTORD_LIMITS_NOT_ENFORCED=%s", words);
        log_field(&entry, "ACTORD_UNIT=%s", job->answer.unit);
        if (job->progress.level == SANDBOX_LEVEL_NONE)
                log_send(&entry, LOG_WARNING,
                                "Job %" PRIu64
                                " runs WITHOUT A SANDBOX: its environment can do whatever user %u can.",
                                job->row.id, (unsigned) geteuid());
        else
                log_send(&entry, LOG_INFO, "Job %" PRIu64 " runs in sandbox level %s.", job->row.id, level);
}

static void say_fault(Job *job, const Record *record) {
        LogEntry entry;
        char sentence[320];

        (void) fault_sentence_of(record->actor, record->fault, record->detail, sentence);
        job_log_begin(&entry, job, MESSAGE_ACTOR_FAILED);
        log_field(&entry, "ACTORD_FAULT=%s", fault_to_string(record->fault));
        log_field(&entry, "ACTORD_DETAIL=%d", record->detail);
        if (record->actor != UINT32_MAX)
                log_field(&entry, "ACTORD_ACTOR=%u", record->actor);
        log_field(&entry, "ACTORD_ATTEMPT=%u", record->attempt);
        log_field(&entry, "ACTORD_REASON=%s", sentence);
        log_send(&entry, LOG_WARNING, "Job %" PRIu64 ", round %" PRIu64 ": %s.", job->row.id, record->round,
                        sentence);
        job_set_fault(job, sentence);
}

static void say_checkpoint(Job *job, const Record *record) {
        LogEntry entry;

        job_log_begin(&entry, job, MESSAGE_CHECKPOINT);
        log_send(&entry, LOG_INFO, "Job %" PRIu64 " has a checkpoint of round %" PRIu64 ".", job->row.id,
                        record->round);
}

static void say_target(Job *job) {
        LogEntry entry;

        job_log_begin(&entry, job, MESSAGE_TARGET_REACHED);
        log_field(&entry, "ACTORD_ENV_STEPS=%" PRIu64, job->progress.target_steps);
        log_send(&entry, LOG_INFO, "Job %" PRIu64 " reached its target after %" PRIu64 " environment steps.",
                        job->row.id, job->progress.target_steps);
}

static void say_budget(Job *job) {
        uint64_t nano = bill_full_nano(&job->progress.usage, job->sheet, &job->settings);
        const char *currency = price_sheet_currency(job->sheet);
        LogEntry entry;

        job_log_begin(&entry, job, MESSAGE_BUDGET_EXHAUSTED);
        log_field(&entry, "ACTORD_COST_FULL=%.9f", (double) nano / 1e9);
        log_field(&entry, "ACTORD_CURRENCY=%s", currency);
        log_send(&entry, LOG_NOTICE, "Job %" PRIu64 " has used up its budget: %.9f %s.", job->row.id,
                        (double) nano / 1e9, currency);
}

/* Queues the row of a checkpoint. A job may go on from a checkpoint once this row is in the ledger. The same
 * transaction makes all earlier records durable. The older checkpoint is removed only afterwards. */
static int count_checkpoint(Job *job, const Record *record) {
        LedgerCheckpoint checkpoint = {
                .job = job->row.id,
                .life = record->life,
                .seq = record->seq,
                .round = record->round,
                .scheduler = &job->scheduler,
                .scheduler_bytes = sizeof(job->scheduler),
        };
        int r;

        (void) snprintf(checkpoint.name, sizeof(checkpoint.name), CHECKPOINT_NAME, record->round);
        memcpy(checkpoint.sha256, record->sha256, sizeof(checkpoint.sha256));
        r = ledger_checkpoint_append(job->context->ledger, &checkpoint);
        if (r < 0)
                return r;
        job->prune_round = record->round;
        return 0;
}

/* Gives the record to the ledger. Negative: the ledger is blocked, and the record is offered again later. */
static int hand_over(Job *job, const Record *record) {
        int r;

        r = ledger_append(job->context->ledger, job->row.id, record);
        if (r == -ENOBUFS) {
                r = commit_now(job->context);
                if (r >= 0)
                        r = ledger_append(job->context->ledger, job->row.id, record);
        }
        if (r >= 0 && record->kind == RECORD_CHECKPOINT && record->fault == FAULT_NONE)
                r = count_checkpoint(job, record);
        if (r < 0)
                commit_failed(job->context, r);
        return r;
}

static void life_ended_by_itself(Job *job) {
        job->waits_checkpoint = 0;
        if (job_end_by_records(job))
                return;
        (void) commit_now(job->context);
        job_arm_deadline(job, EXIT_TIMEOUT_USEC, NULL);
}

/* Notes that the last checkpoint failed, if the record says so. The invoker tries again by itself, and ends
 * when it has written the checkpoint. */
static void last_checkpoint_failed(Job *job, const Record *record) {
        if (record->fault != FAULT_CHECKPOINT || record->end == PLAN_END_NOT)
                return;
        job->waits_checkpoint = record->detail > 0 ? record->detail : EIO;
        job_set_state(job, JOB_ENDING);
        job_changed(job, JOB_CHANGE_STATE);
}

static void take(Job *job, const Record *record) {
        bool target_before = job->progress.target_reached;

        progress_add(&job->progress, job->sheet, &job->settings, record);
        job->uncounted = true;
        if (job->progress.target_reached && !target_before)
                say_target(job);

        switch ((RecordKind) record->kind) {
        case RECORD_STARTED:
                if (job->state == JOB_STARTING)
                        job_set_state(job, JOB_RUNNING);
                job->turn_usec = clock_boottime() / 1000;
                job_watch_start(job);
                job->deadline = sd_event_source_disable_unref(job->deadline);
                job_changed(job, JOB_CHANGE_STATE);
                say_started(job);
                break;
        case RECORD_FAULT:
                say_fault(job, record);
                last_checkpoint_failed(job, record);
                break;
        case RECORD_CHECKPOINT:
                job->waits_checkpoint = 0;
                say_checkpoint(job, record);
                /* Makes the checkpoint's record, and the records of the work before it, durable. A commit
                 * that fails is logged and tried again. */
                (void) commit_now(job->context);
                break;
        case RECORD_ENDED: life_ended_by_itself(job); break;
        case RECORD_ROUND:
                job_decide(job, record);
                (void) job_decision_save(job);
                break;
        case RECORD_WORKER:
        case RECORD_ROLLOUT:
        case RECORD_EVALUATION:
        case RECORD_EVALUATED:
        case RECORD_UPDATE:
        case RECORD_POOL:
        case RECORD_LOST:
        case RECORD_METRIC:
        case RECORD_NODE:
        case _RECORD_KIND_MAX:
        case _RECORD_KIND_INVALID: break;
        }
}

int job_offer_held(Job *job) {
        int r;

        assert(job);

        if (!job->has_held)
                return 0;
        r = hand_over(job, &job->held);
        if (r < 0)
                return r;
        job->has_held = false;
        take(job, &job->held);
        job_changed(job, JOB_CHANGE_ROUND);
        return 0;
}

int job_read(Job *job) {
        int r;

        assert(job);

        while (job->link && !job->end.noted) {
                if (!job->has_held) {
                        r = plan_link_next(job->link, &job->held);
                        if (r < 0)
                                return r;
                        if (r == 0)
                                break;
                        if (job->progress.ended && job->progress.life == job->held.life)
                                return -EBADMSG; /* no record may follow the last one */
                        job->has_held = true;
                }
                r = job_offer_held(job);
                if (r < 0)
                        return 0;
        }

        if (ledger_n_pending(job->context->ledger) >= PENDING_MAX)
                (void) commit_now(job->context);
        else
                commit_soon(job->context);
        job_send_plan(job);
        return 0;
}

static uint32_t end_of_plan(const Job *job) {
        if (job->row.end_wanted != PLAN_END_NOT)
                return job->row.end_wanted;
        if (job->back_reason)
                return PLAN_END_PREEMPTED;
        return job_moves(job) ? PLAN_END_REDISTRIBUTED : PLAN_END_NOT;
}

void job_send_plan(Job *job) {
        uint64_t round;
        LeaseInput input;
        Plan plan;

        assert(job);

        if (!job->link || job->link_over)
                return;

        if (job_decision_save(job) < 0)
                return;
        job_distribute(job);
        round = job->progress.life == job->row.life && job->progress.round > job->resume_round
                                ? job->progress.round
                                : job->resume_round;
        input = (LeaseInput){
                .settings = &job->settings,
                .usage = &job->progress.usage,
                .scheduler = &job->scheduler,
                .step = job_measures(job) || spending_is_limited(job->context, job->row.uid),
                .round = round,
                .acknowledged = job->acknowledged,
                .end = end_of_plan(job),
                .stop_deadline_nsec = job->stop_deadline_nsec,
        };
        lease_make(&input, &plan);
        if (memcmp(&plan, &job->plan, sizeof(plan)) == 0)
                return;

        if (plan.end == PLAN_END_BUDGET && job->plan.end != PLAN_END_BUDGET)
                say_budget(job);
        job->plan = plan;
        (void) plan_link_send(job->link, &plan);
}
