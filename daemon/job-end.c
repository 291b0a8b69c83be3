/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How lives and jobs end. One path: whatever of a job dies, other than an actor, its life is over, and the next one goes on from the newest checkpoint that counts; if the job
 * has said its last record, or was asked to end, or gets no further, the job is over. */
#include "daemon/job.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "daemon/descriptors.h"
#include "daemon/files.h"
#include "include/bus.h"
#include "lib/cleanup.h"
#include "lib/limits.h"
#include "lib/words.h"

#define BACKOFF_FIRST_USEC (50ull * 1000)

void job_life_clear(Job *job) {
        assert(job);

        job->launch = launch_call_free(job->launch);
        job->link = plan_link_free(job->link);
        job->pid_source = sd_event_source_disable_unref(job->pid_source);
        job->deadline = sd_event_source_disable_unref(job->deadline);
        job->runtime_timer = sd_event_source_disable_unref(job->runtime_timer);
        job->backoff = sd_event_source_disable_unref(job->backoff);
        job->pid_fd = close_fd(job->pid_fd);
        g_clear_pointer(&job->life_error, g_free);
        job->link_over = job->exited = job->adopting = job->kill_tried = job->has_held = false;
        job->life_hopeless = false;
        job->settling = job->settled = false;
        job->plan = (Plan){};
        job->acknowledged = 0;
}

void job_say_leftover(const Job *job, const char *reason) {
        LogEntry entry;

        job_log_begin(&entry, job, MESSAGE_JOB_LEFTOVER);
        log_field(&entry, "ACTORD_REASON=%s", reason);
        log_field(&entry, "ACTORD_CGROUP=%s", job->answer.control_group);
        log_field(&entry, "ACTORD_UNIT=%s", job->answer.unit);
        log_send(&entry, LOG_WARNING, "Something of job %" PRIu64 " is left: %s.", job->row.id, reason);
}

static void remove_runtime_files(const Job *job) {
        char name[32];

        (void) snprintf(name, sizeof(name), "%" PRIu64 ".sock", job->row.id);
        (void) unlinkat(job->manager->sockets_fd, name, 0);
        (void) snprintf(name, sizeof(name), "%" PRIu64 ".launch", job->row.id);
        (void) unlinkat(job->manager->sockets_fd, name, 0);
}

static void say_end(const Job *job, uint32_t end, const char *sentence) {
        const char *result = plan_end_to_string(end), *currency = price_sheet_currency(job->sheet);
        LogEntry entry;
        Bill bill;

        bill_make(&job->progress.usage, job->sheet, &job->settings, &bill);
        job_log_begin(&entry, job, end == PLAN_END_FAILED ? MESSAGE_JOB_FAILED : MESSAGE_JOB_ENDED);
        log_field(&entry, "ACTORD_RESULT=%s", result);
        log_field(&entry, "ACTORD_REASON=%s", sentence ? sentence : result);
        log_field(&entry, "ACTORD_ENV_STEPS=%" PRIu64, job->progress.statistics.n_env_steps);
        log_field(&entry, "ACTORD_COST_FULL=%.9f", bill.full);
        log_field(&entry, "ACTORD_COST_PAPER=%.9f", bill.paper);
        log_field(&entry, "ACTORD_CURRENCY=%s", currency);
        if (end == PLAN_END_FAILED)
                log_send(&entry, LOG_WARNING, "Job %" PRIu64 " failed: %s.", job->row.id, sentence);
        else
                log_send(&entry, LOG_INFO, "Job %" PRIu64 " ended: %s, %" PRIu64 " steps, %.9f %s.",
                                job->row.id, result, job->progress.statistics.n_env_steps, bill.full,
                                currency);
}

static void finish(Job *job, uint32_t end, const char *sentence) {
        Manager *manager = job->manager;

        job->row.ended_usec = (uint64_t) g_get_real_time();
        free(job->row.result);
        job->row.result = strdup(plan_end_to_string(end));
        if (sentence)
                job_set_fault(job, sentence);

        remove_runtime_files(job);
        /* Its unit and cgroup are gone, as every later reader of the row will find. */
        job->answer = (LaunchAnswer){};
        job_life_clear(job);
        job_file_remove(manager->jobs_fd, job->row.id, BUS_FILE_ENVIRONMENT);
        job_file_remove(manager->jobs_fd, job->row.id, BUS_FILE_CHECKPOINT);
        job->stderr_fd = close_fd(job->stderr_fd);
        directory_forget(job);
        directory_fd_drop(TAKE_FD(job->directory_fd));

        say_end(job, end, sentence);
        job_set_state(job, JOB_ENDED);
        (void) manager_commit(manager);
        (void) job_save(job);
        job_emit_now(job);
        manager_emit_job_removed(manager, job, job->row.result);
        manager_schedule(manager);
}

/* Not worth another try: nothing that could change has failed. */
void job_give_up(Job *job, const char *sentence) {
        g_autofree char *copy = g_strdup(sentence);

        assert(job);

        finish(job, job->end_wanted != PLAN_END_NOT ? job->end_wanted : PLAN_END_FAILED, copy);
}

static int on_backoff(sd_event_source *source, uint64_t usec, void *userdata) {
        Job *job = userdata;

        job->backoff = sd_event_source_disable_unref(job->backoff);
        job_start(job);
        return 0;
}

static void say_resumed(const Job *job, const char *sentence) {
        LogEntry entry;

        job_log_begin(&entry, job, MESSAGE_JOB_RESUMED);
        log_field(&entry, "ACTORD_REASON=%s", sentence);
        log_send(&entry, LOG_WARNING, "Job %" PRIu64 " goes on in life %" PRIu64 ": %s.", job->row.id,
                        job->row.life + 1, sentence);
}

static void begin_next_life(Job *job, uint64_t wait_usec) {
        (void) manager_commit(job->manager);
        job_life_clear(job);
        job_set_state(job, JOB_STARTING);
        if (sd_event_add_time_relative(job->manager->event, &job->backoff, CLOCK_BOOTTIME, wait_usec, 0,
                            on_backoff, job) < 0)
                finish(job, PLAN_END_FAILED, "there was no memory for a timer");
        else
                (void) sd_event_source_set_description(job->backoff, "next-life");
}

/* The checkpoint of a life is progress; lives without one are counted, and wait a little longer each. */
void job_life_failed(Job *job, const char *sentence) {
        g_autofree char *copy = g_strdup(sentence);
        uint64_t n_barren = job->row.life - job->progress.checkpoint_life;
        uint64_t wait = BACKOFF_FIRST_USEC << (n_barren < 8 ? n_barren : 8);

        assert(job);

        if (job->end_wanted != PLAN_END_NOT) {
                finish(job, job->end_wanted, NULL);
                return;
        }
        if (job->row.purpose == LAUNCH_VERIFY || n_barren >= LIVES_MAX) {
                finish(job, PLAN_END_FAILED, copy);
                return;
        }

        say_resumed(job, copy);
        job_set_fault(job, copy);
        begin_next_life(job, wait);
}

/* A learner that was killed, or ran out of time or memory, may do better in its next life; what it computes will be the same. */
static bool worth_another_life(const Progress *p) {
        if (p->end != PLAN_END_FAILED || p->end_actor != UINT32_MAX)
                return false;
        if (p->end_fault == FAULT_EXITED && limit_is_lasting(limit_exit_error(p->end_detail)))
                return false;
        return p->end_fault == FAULT_KILLED || p->end_fault == FAULT_EXITED ||
               p->end_fault == FAULT_TIMEOUT || p->end_fault == FAULT_MEMORY ||
               (p->end_fault == FAULT_INTERNAL && !limit_is_lasting(p->end_detail));
}

/* Of what the records say, which may have been committed before a restart: the row is written only now. */
static void ended(Job *job) {
        char sentence[320];

        memcpy(job->row.policy_sha256, job->progress.policy_sha256, sizeof(job->row.policy_sha256));
        job->row.has_policy = job->progress.has_policy;
        if (job->progress.end == PLAN_END_REDISTRIBUTED) {
                if (job->end_wanted != PLAN_END_NOT)
                        finish(job, job->end_wanted, NULL);
                else
                        begin_next_life(job, BACKOFF_FIRST_USEC);
                return;
        }
        if (job->progress.end != PLAN_END_FAILED) {
                finish(job, job->progress.end, NULL);
                return;
        }
        (void) fault_sentence_of(job->progress.end_actor, job->progress.end_fault, job->progress.end_detail,
                        sentence);
        if (worth_another_life(&job->progress))
                job_life_failed(job, sentence);
        else
                finish(job, PLAN_END_FAILED, sentence);
}

void job_life_check(Job *job) {
        assert(job);

        if (job->state == JOB_QUEUED || job->backoff) {
                if (job->end_wanted != PLAN_END_NOT)
                        finish(job, job->end_wanted, NULL);
                return;
        }
        if (!job->link_over || !job->exited) {
                /* One of the two signs that the invoker is gone; the other follows, or is not worth waiting for. */
                if (job->link_over || job->exited)
                        job_arm_deadline(job, EXIT_TIMEOUT_USEC, NULL);
                return;
        }

        if (!job->life_error)
                (void) job_read(job); /* the spool outlives its writer */
        if (job_offer_held(job) < 0 || (job_settle(job) && job_offer_held(job) < 0)) {
                /* The ledger is blocked: nothing is decided before it has what it must have. */
                job_arm_deadline(job, COMMIT_RETRY_USEC, NULL);
                return;
        }
        if (!job->settled)
                return;

        if (job->progress.ended && job->progress.life == job->row.life)
                ended(job);
        else if (job->life_hopeless)
                job_give_up(job, job->life_error);
        else
                job_life_failed(job, job->life_error ? job->life_error
                                                     : "its invoker was gone before it said so");
}
