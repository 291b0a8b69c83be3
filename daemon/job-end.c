/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes down how a job ended. The end is noted in the job, queued for the ledger behind the job's last
 * record, and committed in one transaction with this record. When the end is durable, job-step.c decides
 * what follows. */
#include "daemon/job-end.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "daemon/commit.h"
#include "daemon/job-checkpoint.h"
#include "daemon/summary.h"
#include "lib/limits.h"
#include "lib/string-tables.h"

/* The job's results, without how and when it ended. The strings belong to the job, except the summary. */
static LedgerEnd end_of(const Job *job) {
        LedgerEnd end = {
                .row = job->row,
                .currency = (char *) price_sheet_currency(job->sheet),
                .sheet_name = (char *) price_sheet_name(job->sheet),
                .full_nano = bill_full_nano(&job->progress.usage, job->sheet, &job->settings),
                .paper_nano = bill_paper_nano(&job->progress.usage, job->sheet, &job->settings),
                .n_env_steps = job->progress.statistics.n_env_steps,
                .round = job->progress.round,
                .return_mean = job->progress.statistics.return_mean,
        };
        Bill bill;

        bill_make(&job->progress.usage, job->sheet, &job->settings, &bill);
        end.cost_full = bill.full;
        for (CpuUse use = CPU_USE_ACTORS; use < _CPU_USE_MAX; use++)
                end.cpu_nsec += usage_cpu_nsec(&job->progress.usage, use);
        end.row.summary = summary_write(&job->progress);
        return end;
}

int job_sum_up(Job *job) {
        LedgerEnd end;
        int r;

        assert(job);
        assert(job->state == JOB_ENDED);

        end = end_of(job);
        r = ledger_end_append(job->context->ledger, &end);
        g_free(end.row.summary);
        return r;
}

void job_queue_end(Job *job) {
        g_autofree char *result = g_strdup(plan_end_to_string(job->end.end));
        LedgerEnd end = end_of(job);
        int r;

        end.row.result = result;
        end.row.ended_usec = job->end.usec;
        end.row.fault = job->end.sentence ? job->end.sentence : job->row.fault;
        memcpy(end.row.policy_sha256, job->end.policy_sha256, sizeof(end.row.policy_sha256));
        end.row.has_policy = job->end.has_policy;
        r = ledger_end_append(job->context->ledger, &end);
        g_free(end.row.summary);
        job->end.queued = r >= 0;
        if (r < 0)
                commit_failed(job->context, r);
}

int job_prepare_end(Job *job) {
        int r;

        assert(job);

        r = job_load_progress(job, false);
        return r < 0 && limit_may_pass(r) ? r : 0;
}

void job_finish(Job *job, uint32_t end, const char *sentence) {
        if (job->end.noted)
                return;
        /* A job that went back to the queue has a bill already. If the daemon was restarted since then, it
         * reads the job's records only now. */
        (void) job_load_progress(job, false);
        /* No other life begins while the end is not durable yet. */
        job->search = checkpoint_search_free(job->search);
        job->backoff = sd_event_source_disable_unref(job->backoff);
        job->row.frozen_usec = 0;
        job->end.noted = true;
        job->end.end = end;
        job->end.sentence = g_strdup(sentence);
        job->end.usec = (uint64_t) g_get_real_time();
        memcpy(job->end.policy_sha256, job->progress.policy_sha256, sizeof(job->end.policy_sha256));
        job->end.has_policy = job->progress.has_policy;
        job_set_state(job, JOB_ENDING);
        job_queue_end(job);
        (void) commit_now(job->context);
}

/* Ends the job, since another try would fail in the same way. */
void job_give_up(Job *job, const char *sentence) {
        g_autofree char *copy = g_strdup(sentence);

        assert(job);

        job_finish(job, job->row.end_wanted != PLAN_END_NOT ? job->row.end_wanted : PLAN_END_FAILED, copy);
}

void job_end_queued(Job *job, uint32_t end, const char *sentence) {
        assert(job);

        (void) job_load_progress(job, false);
        job->progress.ended = false;
        job_finish(job, end, sentence);
}

void job_take_up_end(Job *job) {
        assert(job);
        assert(job->state == JOB_ENDED);

        job->end.noted = job->end.queued = job->end.durable = true;
        job->end.usec = job->row.ended_usec;
        job->end.end = PLAN_END_FAILED;
        for (uint32_t i = 0; i < _PLAN_END_MAX; i++)
                if (g_strcmp0(plan_end_to_string(i), job->row.result) == 0)
                        job->end.end = i;
        job->end.sentence = g_strdup(job->row.fault);
        memcpy(job->end.policy_sha256, job->row.policy_sha256, sizeof(job->end.policy_sha256));
        job->end.has_policy = job->row.has_policy;
        job->state = JOB_ENDING;
}

/* Whether to start the job's processes again. A learner that was killed, or ran out of time or memory, may
 * then succeed. Errors of computation would occur again. */
static bool worth_another_life(const Progress *p) {
        if (progress_lacked(p))
                return true;
        if (p->end != PLAN_END_FAILED || p->end_actor != UINT32_MAX)
                return false;
        if (p->end_fault == FAULT_EXITED && limit_is_lasting(limit_exit_error(p->end_detail)))
                return false;
        return p->end_fault == FAULT_KILLED || p->end_fault == FAULT_EXITED ||
               p->end_fault == FAULT_TIMEOUT || p->end_fault == FAULT_ACTING ||
               p->end_fault == FAULT_MEMORY || p->end_fault == FAULT_HOST_MEMORY ||
               (p->end_fault == FAULT_INTERNAL && !limit_is_lasting(p->end_detail));
}

/* Whether a life that has ended by itself was the job's last one. If so, also returns how the job ended, and
 * why. The sentence is empty if nothing failed. */
static bool is_last(const Job *job, uint32_t *ret_end, char ret_sentence[320]) {
        const Progress *p = &job->progress;

        ret_sentence[0] = '\0';
        if (p->end == PLAN_END_REDISTRIBUTED || p->end == PLAN_END_PREEMPTED) {
                *ret_end = job->row.end_wanted;
                return job->row.end_wanted != PLAN_END_NOT;
        }
        *ret_end = p->end;
        if (p->end != PLAN_END_FAILED)
                return true;
        (void) progress_end_sentence(p, ret_sentence);
        return !worth_another_life(p);
}

bool job_end_by_records(Job *job) {
        char sentence[320];
        uint32_t end;

        assert(job);

        if (!is_last(job, &end, sentence))
                return false;
        job_finish(job, end, *sentence ? sentence : NULL);
        return true;
}
