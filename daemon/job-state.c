/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Functions that every file about a job uses: for its state, its fault, its row, and the start of its log
 * entries. */
#include "daemon/job.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "daemon/commit.h"
#include "include/sandbox.h"
#include "lib/string-tables.h"

static const char *const job_states[_JOB_STATE_MAX] = {
#define X(name, word) [JOB_##name] = word,
        JOB_STATES(X)
#undef X
};

const char *job_state_to_string(JobState state) {
        return (int) state >= 0 && state < _JOB_STATE_MAX ? job_states[state] : NULL;
}

const char *job_state_word(const Job *job) {
        assert(job);

        return job->state == JOB_QUEUED && job->row.frozen_usec > 0 ? JOB_FROZEN_WORD
                                                                    : job_state_to_string(job->state);
}

static void count(JobContext *context, JobState state, int by) {
        if (state == JOB_QUEUED)
                context->jobs.n_queued += by;
        else if (state != JOB_ENDED)
                context->jobs.n_running += by;
}

void job_set_state(Job *job, JobState state) {
        static const char *const rows[_JOB_STATE_MAX] = {
                [JOB_QUEUED] = "queued",
                [JOB_STARTING] = NULL, /* row.state stays; note_life() sets it to "running" */
                [JOB_RUNNING] = "running",
                [JOB_ENDING] = "running",
                [JOB_ENDED] = "ended",
        };

        assert(job);
        assert((int) state >= 0 && state < _JOB_STATE_MAX);

        if (job->state == state)
                return;
        count(job->context, job->state, -1);
        count(job->context, state, +1);
        job->state = state;

        if (rows[state]) {
                free(job->row.state);
                job->row.state = strdup(rows[state]);
        }
        job_changed(job, JOB_CHANGE_STATE | JOB_CHANGE_NOW);
}

void job_set_fault(Job *job, const char *sentence) {
        assert(job);

        free(job->row.fault);
        job->row.fault = sentence ? strdup(sentence) : NULL;
        job_changed(job, JOB_CHANGE_STATE);
}

int job_save(Job *job) {
        int r;

        assert(job);

        /* The end of a job (end.noted) writes the whole row, with all changes that would be written here. A
         * job that stays unsaved would never leave the list of jobs. */
        if (job->end.noted) {
                job->unsaved = false;
                return 0;
        }
        r = ledger_job_update(job->context->ledger, &job->row);
        job->unsaved = r < 0;
        if (r < 0)
                commit_failed(job->context, r);
        return r;
}

void job_log_begin(LogEntry *entry, const Job *job, Message message) {
        assert(entry);
        assert(job);

        log_begin(entry, message);
        log_field(entry, "ACTORD_JOB=%" PRIu64, job->row.id);
        log_field(entry, "ACTORD_USER=%u", job->row.uid);
        log_field(entry, "ACTORD_LIFE=%" PRIu64, job->row.life);
        log_field(entry, "ACTORD_ROUND=%" PRIu64, job->progress.round);
        log_field(entry, "ACTORD_ENVIRONMENT=%s", job->settings.environment);
}

void job_say_leftover(const Job *job, const char *reason) {
        LogEntry entry;

        job_log_begin(&entry, job, MESSAGE_JOB_LEFTOVER);
        log_field(&entry, "ACTORD_REASON=%s", reason);
        log_field(&entry, "ACTORD_CGROUP=%s", job->answer.control_group);
        log_field(&entry, "ACTORD_UNIT=%s", job->answer.unit);
        log_send(&entry, LOG_WARNING, "Job %" PRIu64 " has left something behind: %s.", job->row.id, reason);
}

bool job_has_unread(const Job *job) {
        assert(job);

        return job->link && !job->disbelieved && plan_link_unread(job->link) > 0;
}

uint32_t job_scheduler_kind(const Job *job) {
        assert(job);

        return job->row.purpose == LAUNCH_TRAIN ? job->settings.scheduler.kind : (uint32_t) SCHEDULER_FIXED;
}

char **job_limits_missing(const Job *job) {
        g_autoptr(GPtrArray) words = g_ptr_array_new();

        assert(job);

        for (uint32_t i = 0; i < _LIMIT_MAX; i++)
                if (job->progress.limits_missing >> i & 1)
                        g_ptr_array_add(words, g_strdup(limit_to_string(i)));
        g_ptr_array_add(words, NULL);
        return (char **) g_ptr_array_steal(words, NULL);
}
