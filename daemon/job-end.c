/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How lives and jobs end. One path: whatever of a job dies, other than an actor, its life is over, and the next one goes on from the newest checkpoint that counts; if the job
 * has said its last record, or was asked to end, or gets no further, the job is over. */
#include "daemon/job.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "daemon/descriptors.h"
#include "daemon/disk.h"
#include "daemon/files.h"
#include "daemon/summary.h"
#include "daemon/trim.h"
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
        job->watch = sd_event_source_disable_unref(job->watch);
        job->watch_asked_usec = job->watch_slowest_usec = 0;
        job->backoff = sd_event_source_disable_unref(job->backoff);
        job->pid_fd = close_fd(job->pid_fd);
        g_clear_pointer(&job->life_error, g_free);
        job->waits_checkpoint = 0;
        job->link_over = job->exited = job->adopting = job->kill_tried = job->has_held = false;
        job->life_hopeless = false;
        job->settling = job->settled = false;
        job->plan = (Plan){};
        job->back_reason = NULL;
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
        Manager *manager = job->manager;

        /* Its unit and cgroup are gone, as every later reader of the row will find. */
        job->answer = (LaunchAnswer){};
        job_life_clear(job);
        job_file_remove(manager->jobs_fd, job->row.id, BUS_FILE_ENVIRONMENT);
        job_file_remove(manager->jobs_fd, job->row.id, BUS_FILE_CHECKPOINT);
        job->stderr_fd = close_fd(job->stderr_fd);
        directory_forget(job);
        directory_fd_drop(TAKE_FD(job->directory_fd));
        /* The last one: as long as it is there, a daemon that starts knows that the rest may be, too. */
        remove_runtime_files(job);
}

/* The ledger has it, so it may be said. */
static void announce(Job *job) {
        Manager *manager = job->manager;

        job->row.ended_usec = job->end.usec;
        free(job->row.result);
        job->row.result = strdup(plan_end_to_string(job->end.end));
        memcpy(job->row.policy_sha256, job->end.policy_sha256, sizeof(job->row.policy_sha256));
        job->row.has_policy = job->end.has_policy;
        if (job->end.sentence)
                job_set_fault(job, job->end.sentence);
        remove_files(job);
        disk_count(manager, job->row.id);
        say_end(job);
        job_set_state(job, JOB_ENDED);
        job_emit_now(job);
        manager_emit_job_removed(manager, job, job->row.result);
        trim_soon(manager);
        manager_schedule(manager);
}

/* Behind everything that the job has had recorded; they are one transaction. */
static void queue_end(Job *job) {
        g_autofree char *summary = summary_write(&job->progress),
                        *currency = g_strdup(price_sheet_currency(job->sheet)),
                        *sheet = g_strdup(price_sheet_name(job->sheet)),
                        *result = g_strdup(plan_end_to_string(job->end.end));
        LedgerEnd end = {
                .row = job->row,
                .currency = currency,
                .sheet_name = sheet,
                .full_nano = bill_full_nano(&job->progress.usage, job->sheet, &job->settings),
                .paper_nano = bill_paper_nano(&job->progress.usage, job->sheet, &job->settings),
                .n_env_steps = job->progress.statistics.n_env_steps,
                .round = job->progress.round,
                .return_mean = job->progress.statistics.return_mean,
        };
        Bill bill;
        int r;

        bill_make(&job->progress.usage, job->sheet, &job->settings, &bill);
        end.cost_full = bill.full;

        for (CpuUse use = CPU_USE_ACTORS; use < _CPU_USE_MAX; use++)
                end.cpu_nsec += usage_cpu_nsec(&job->progress.usage, use);
        end.row.summary = summary;
        end.row.result = result;
        end.row.ended_usec = job->end.usec;
        end.row.fault = job->end.sentence ? job->end.sentence : job->row.fault;
        memcpy(end.row.policy_sha256, job->end.policy_sha256, sizeof(end.row.policy_sha256));
        end.row.has_policy = job->end.has_policy;
        r = ledger_end_append(job->manager->ledger, &end);
        job->end.queued = r >= 0;
        if (r < 0)
                manager_ledger_blocked(job->manager, r);
}

/* As soon as the ledger has the end, its invoker is gone and its cgroup is removed, it is one. */
static void end_check(Job *job) {
        bool by_itself = job->progress.ended && job->progress.life == job->row.life;

        if (!job->end.durable || job->state == JOB_ENDED)
                return;
        if (has_life(job))
                job_arm_deadline(job, EXIT_TIMEOUT_USEC, NULL);
        else if (!by_itself || job_settle(job))
                announce(job);
}

void job_end_committed(Job *job) {
        assert(job);

        if (!job->end.noted || job->end.durable)
                return;
        if (!job->end.queued) {
                queue_end(job);
                manager_commit_soon(job->manager);
                return;
        }
        job->end.durable = true;
        end_check(job);
}

/* The job is over. It is `ended` when that is durable, and until then `ending`: the commit is tried again
 * by itself, and says so by job_committed(). */
static void finish(Job *job, uint32_t end, const char *sentence) {
        if (job->end.noted)
                return;
        job->end.noted = true;
        job->end.end = end;
        job->end.sentence = g_strdup(sentence);
        job->end.usec = (uint64_t) g_get_real_time();
        memcpy(job->end.policy_sha256, job->progress.policy_sha256, sizeof(job->end.policy_sha256));
        job->end.has_policy = job->progress.has_policy;
        job_set_state(job, JOB_ENDING);
        queue_end(job);
        (void) manager_commit(job->manager);
}

/* Not worth another try: nothing that could change has failed. */
void job_give_up(Job *job, const char *sentence) {
        g_autofree char *copy = g_strdup(sentence);

        assert(job);

        finish(job, job->end_wanted != PLAN_END_NOT ? job->end_wanted : PLAN_END_FAILED, copy);
}

void job_leave(Job *job) {
        char sentence[JOB_WAITING_MAX + 32];

        assert(job);

        if (job->state == JOB_ENDED || job->end.noted)
                return;
        if (job->link && !job->life_error)
                (void) job_read(job);
        if (job->end.noted || (job->progress.ended && job->progress.life == job->row.life &&
                                              job_end_by_records(job)))
                return;
        if (job->waits_checkpoint > 0)
                (void) snprintf(sentence, sizeof(sentence),
                                "it was left when its last checkpoint could not be written (%s)",
                                strerror(job->waits_checkpoint));
        finish(job, job->end_wanted != PLAN_END_NOT ? job->end_wanted : PLAN_END_INTERRUPTED,
                        job->waits_checkpoint > 0 ? sentence : "its daemon was gone before it had ended");
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

static bool is_of_space(int error) {
        return error == ENOSPC || error == EDQUOT;
}

static void say_wait(char ret[JOB_WAITING_MAX], const char *who, int error, const char *where) {
        if (is_of_space(error))
                (void) snprintf(ret, JOB_WAITING_MAX, "%s for space in %s (%s)", who, where,
                                ledger_error_words(-error));
        else
                (void) snprintf(ret, JOB_WAITING_MAX, "%s until %s can be written (%s)", who, where,
                                ledger_error_words(-error));
}

const char *job_waiting(const Job *job, char ret[JOB_WAITING_MAX]) {
        const Manager *manager = job->manager;
        char who[64];
        size_t n;

        assert(job);
        assert(ret);

        ret[0] = '\0';
        if (!job_active(job))
                return ret;
        if (job->waits_checkpoint > 0) {
                g_autofree char *where = g_strdup_printf(
                                "%s/jobs/%" PRIu64 "/state", manager->state_directory, job->row.id);

                say_wait(ret, "its last checkpoint waits", job->waits_checkpoint, where);
                return ret;
        }
        n = ledger_n_pending_of(manager->ledger, job->row.id) + (job->has_held ? 1 : 0);
        n += job->link ? plan_link_unread(job->link) : 0;
        if (!manager->ledger_blocked || (n == 0 && !job->end.noted))
                return ret;
        (void) snprintf(who, sizeof(who), "%zu record%s%s wait", n, n == 1 ? "" : "s",
                        job->end.noted ? " and the job's row" : "");
        say_wait(ret, who, manager->ledger_blocked, manager->state_directory);
        return ret;
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
        if (job->back_reason)
                job_requeue(job);
        else
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

/* Whether the life that has ended by itself was the job's last; then how it ends, and why, which is empty
 * where nothing failed. */
static bool is_last(const Job *job, uint32_t *ret_end, char ret_sentence[320]) {
        const Progress *p = &job->progress;

        ret_sentence[0] = '\0';
        if (p->end == PLAN_END_REDISTRIBUTED || p->end == PLAN_END_PREEMPTED) {
                *ret_end = job->end_wanted;
                return job->end_wanted != PLAN_END_NOT;
        }
        *ret_end = p->end;
        if (p->end != PLAN_END_FAILED)
                return true;
        (void) fault_sentence_of(p->end_actor, p->end_fault, p->end_detail, ret_sentence);
        return !worth_another_life(p);
}

bool job_end_by_records(Job *job) {
        char sentence[320];
        uint32_t end;

        assert(job);

        if (!is_last(job, &end, sentence))
                return false;
        finish(job, end, *sentence ? sentence : NULL);
        return true;
}

/* Of what the records say, which may have been committed before a restart. */
static void ended(Job *job) {
        char sentence[320];
        uint32_t end;

        if (job_end_by_records(job))
                return;
        (void) is_last(job, &end, sentence);
        if (job->progress.end == PLAN_END_REDISTRIBUTED)
                begin_next_life(job, BACKOFF_FIRST_USEC);
        else if (job->progress.end == PLAN_END_PREEMPTED)
                job_requeue(job);
        else
                job_life_failed(job, sentence);
}

void job_life_check(Job *job) {
        assert(job);

        if (job->end.noted) {
                end_check(job);
                return;
        }
        if (job->state == JOB_QUEUED || job->backoff) {
                if (job->end_wanted == PLAN_END_NOT)
                        return;
                /* One that is back in the queue has a bill, and a daemon that was restarted has not read
                 * its records yet. */
                (void) job_load_progress(job, false);
                job->progress.ended = false;
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
        if (job->end.noted)
                return;
        if (job_offer_held(job) < 0 || (job_settle(job) && job_offer_held(job) < 0)) {
                /* The ledger is blocked: nothing is decided before it has what it must have. */
                job_arm_deadline(job, COMMIT_RETRY_USEC, NULL);
                return;
        }
        if (!job->settled)
                return;
        if (manager_commit(job->manager) < 0) {
                job_arm_deadline(job, COMMIT_RETRY_USEC, NULL);
                return;
        }

        if (job->progress.ended && job->progress.life == job->row.life)
                ended(job);
        else if (job->life_hopeless)
                job_give_up(job, job->life_error);
        else
                job_life_failed(job, job->life_error ? job->life_error
                                                     : "its invoker was gone before it said so");
}
