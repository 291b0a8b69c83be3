/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Begins a life of a job: finds the checkpoint, asks the spawner to launch the invoker, and connects to the
 * invoker. job-launch.c prepares the request. After a restart of the daemon, the invoker runs already, and
 * the daemon only connects. If the host lacks something for a time (memory, a process), the daemon tries
 * again later; any other failure ends the job. */
#include "daemon/job-life.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "daemon/descriptors.h"
#include "daemon/job-checkpoint.h"
#include "daemon/job-distribution.h"
#include "daemon/job-end.h"
#include "daemon/job-launch.h"
#include "daemon/job-records.h"
#include "daemon/job-schedule.h"
#include "daemon/job-settle.h"
#include "daemon/job-turn.h"
#include "daemon/job-watch.h"
#include "daemon/sources.h"
#include "include/sandbox.h"
#include "lib/boottime.h"
#include "lib/cleanup.h"
#include "lib/limits.h"
#include "lib/sibling.h"
#include "lib/settings/print.h"
#include "lib/string-tables.h"

#define START_TIMEOUT_USEC (60ull * 1000 * 1000)
/* The most retries if a job that has never run cannot start. They take about 25 s in all. */
enum { FIRST_DELAYS_MAX = 8 };

static int on_pid(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Job *job = userdata;

        job->exited = true;
        job->pid_source = sd_event_source_disable_unref(job->pid_source);
        job_look(job);
        return 0;
}

/* Watches the invoker's pidfd, which becomes readable when the invoker ends. The daemon need not be the
 * invoker's parent for this. */
static void watch_invoker(Job *job, int pid_fd) {
        job->pid_fd = pid_fd;
        job->exited = job->pid_fd < 0;
        if (job->pid_fd < 0)
                return;
        job->exited = reading_start(job->context->event, &job->pid_source, "invoker-exit", job->pid_fd,
                                      on_pid, job) < 0;
}

/* Whether the peer may be an invoker, which runs as one of the job's user ids, as the daemon's, or as
 * root. */
static bool peer_may_be_invoker(const struct ucred *peer) {
        return peer->uid == 0 || peer->uid == getuid() ||
               (peer->uid >= UID_RANGE_FIRST && peer->uid < UID_RANGE_END);
}

static int on_hello(const Hello *hello, const struct ucred *peer, void *userdata) {
        Job *job = userdata;
        uint64_t seq = 0;
        bool started;
        int r;

        if (hello->job != job->row.id || hello->life != job->row.life)
                return -EBADMSG;
        if (!peer_may_be_invoker(peer))
                return -EPERM;

        r = ledger_last_seq(job->context->ledger, job->row.id, job->row.life, &seq);
        if (r < 0)
                return r;
        if (seq > hello->written)
                return -EBADMSG;
        plan_link_seek(job->link, seq);
        job->acknowledged = seq;

        started = job->progress.started && job->progress.life == job->row.life;
        if (started)
                job_watch_start(job);
        if (job->adopting) {
                LogEntry entry;

                job->adopting = false;
                job->deadline = sd_event_source_disable_unref(job->deadline);
                /* The daemon was restarted while the life began. An invoker that has not started is not
                 * watched, so its start needs a deadline. */
                if (!started)
                        job_arm_deadline(job, START_TIMEOUT_USEC, "it did not start in time");
                /* The kernel says which process is at the other end. A process id that the daemon noted
                 * before its restart may belong to another process by now. */
                watch_invoker(job, (int) syscall(SYS_pidfd_open, peer->pid, 0));
                job_log_begin(&entry, job, MESSAGE_JOB_ADOPTED);
                log_send(&entry, LOG_INFO,
                                "Job %" PRIu64 " continues in round %" PRIu64 " after the daemon's restart.",
                                job->row.id, hello->round);
                if (job->row.end_wanted != PLAN_END_NOT)
                        job_ask_to_end(job);
        }
        /* A job with an invoker may trade CPU weight, so the daemon checks soon whether a trade must
         * begin. */
        jobs_schedule(&job->context->jobs);
        return 0;
}

/* What to do if the programs of a launch do not fit this daemon's program, since another build was installed
 * while the daemon ran. */
static const char *replaced_words(const Job *job) {
        switch (job->context->mode) {
        case DAEMON_SYSTEM:
                return "actord was replaced by another build while it ran: restart it with systemctl "
                       "restart actord, and jobs go on";
        case DAEMON_USER:
                return "actord was replaced by another build while it ran: restart it with systemctl "
                       "--user restart actord, and jobs go on";
        case DAEMON_RUN:
        case _DAEMON_MODE_MAX:
        case _DAEMON_MODE_INVALID: break;
        }
        return "actord was replaced by another build during the run: start the job again";
}

static char *failed_words(const Failed *failed) {
        const char *where = invoker_step_sentence(failed->step), *advice = limit_advice(failed->error);

        if (failed->step == INVOKER_STEP_FILES)
                return g_strdup_printf("its invoker could not begin: %s: up to %" PRIu32 " are needed, "
                                       "and %" PRIu32 " are allowed%s, or lower Actors= or MaxActors= of "
                                       "[Scaling]",
                                where, failed->needed, failed->limit, advice);
        return g_strdup_printf(
                        "its invoker could not begin: %s: %s%s", where, g_strerror(-failed->error), advice);
}

/* The invoker failed before it could say Hello, most likely at a limit of the host. */
static int on_failed(const Failed *failed, const struct ucred *peer, void *userdata) {
        Job *job = userdata;

        if (!peer_may_be_invoker(peer))
                return -EPERM;
        g_free(job->life_error);
        if (failed->step == INVOKER_STEP_CONTRACTS && sibling_replaced()) {
                job->life_error = g_strdup_printf("its invoker could not begin: %s", replaced_words(job));
                job->life_hopeless = job->context->mode == DAEMON_RUN;
                job->life_error_number = EAGAIN; /* it is not the job's fault */
                return 0;
        }
        job->life_error = failed_words(failed);
        job->life_hopeless = limit_is_lasting(failed->error);
        job->life_error_number = abs(failed->error);
        return 0;
}

static int on_written(void *userdata) {
        job_watch_heard(userdata);
        return job_read(userdata);
}

static void on_closed(int error, void *userdata) {
        Job *job = userdata;

        job->link_over = true;
        if (error < 0) {
                bool replaced = sibling_replaced();

                /* The invoker has been told to end, but the daemon does not rely on it. */
                job->disbelieved = true;
                g_free(job->life_error);
                job->life_error = g_strdup_printf("its invoker sent an impossible message (%s)%s%s",
                                g_strerror(-error), replaced ? "; " : "",
                                replaced ? replaced_words(job) : "");
                job_arm_deadline(job, 0, NULL);
                return;
        }
        job_look(job);
}

static const PlanLinkOps link_ops = {
        .hello = on_hello, .written = on_written, .failed = on_failed, .closed = on_closed
};

static int connect_invoker(Job *job) {
        _cleanup_close_ int fd = -EBADF;
        char name[32];
        int r;

        job_socket_name(job, name);
        fd = plan_connect(job->context->sockets_fd, name);
        if (fd < 0)
                return fd;
        r = plan_link_new(job->context->event, fd, &link_ops, job, &job->link);
        if (r < 0)
                return r;
        (void) TAKE_FD(fd);
        job->link_over = false;
        return 0;
}

/* Writes a file before the spawner is asked. If the daemon or the spawner is killed before the answer
 * arrives, the file says where the life's cgroup would be, and what that cgroup had counted before. */
static void expect_answer(Job *job) {
        bool managed = job->context->launch_manager != LAUNCH_MANAGER_NONE;

        if (job->answer.life != job->row.life && job->row.life > 1)
                job_answer_find(job);
        if (job->answer.abi != LAUNCH_ABI || job->answer.life != job->row.life)
                job->answer = (LaunchAnswer){
                        .abi = LAUNCH_ABI,
                        .metering = managed ? INVOKER_CGROUP_SCOPE : INVOKER_CGROUP_OWN,
                        .owner = (uint32_t) getpid(),
                        .cpu_nsec = job->row.life > 1 ? UINT64_MAX : 0,
                        .life = job->row.life,
                };
        job_answer_keep(job);
}

/* Whether a failed launch may succeed later: the scope of the last life may still be ending, systemd or the
 * spawner may be busy, or memory may have run out for a moment. */
static bool launch_may_pass(const LaunchAnswer *answer) {
        bool asked_systemd = answer->step == LAUNCH_STEP_SCOPE || answer->step == LAUNCH_STEP_DELEGATION;

        return (asked_systemd && answer->error != -EOPNOTSUPP) || answer->error == -EPIPE ||
               (limit_is_momentary(answer->error) && !limit_is_lasting(answer->error));
}

/* Whether daemon and spawner do not understand each other since another build was installed. */
static bool is_of_other_build(const LaunchAnswer *answer) {
        return answer->step == LAUNCH_STEP_MESSAGE && answer->error == -EBADMSG && sibling_replaced();
}

/* Gives up a life whose launch failed. A process may have run for a moment, or may still run, so the usage
 * of this life is counted like that of any other life. */
static void launch_failed(Job *job, const LaunchAnswer *answer) {
        const char *message = *answer->message ? answer->message : g_strerror(-answer->error);

        if (is_of_other_build(answer))
                message = replaced_words(job);
        g_free(job->life_error);
        job->life_error = g_strdup_printf("its launch failed at step %s: %s%s",
                        launch_step_to_string(answer->step), message, limit_advice(answer->error));
        job->life_hopeless = !launch_may_pass(answer);
        job->n_delays = 0;
        job->launch_failed = job->link_over = job->exited = true;
        job->launch = launch_call_free(job->launch);
        job_look(job);
}

static void say_starting(Job *job) {
        const char *why, *word = choice_distribution_to_string(job_distribution(job, NULL, &why));
        LogEntry entry;

        job_log_begin(&entry, job, MESSAGE_JOB_STARTING);
        log_field(&entry, "ACTORD_DISTRIBUTION=%s", word);
        log_send(&entry, LOG_INFO, "Job %" PRIu64 " (%s) starts, life %" PRIu64 "%s%s%s%s.", job->row.id,
                        job->settings.environment, job->row.life, why ? ": auto chooses " : "",
                        why ? word : "", why ? ", since " : "", why ? why : "");
}

static char *sentence_of_start(const Job *job, const char *what, int error) {
        if (error != -ENOTRECOVERABLE)
                return g_strdup_printf(
                                "%s is not available: %s%s", what, g_strerror(-error), limit_advice(error));
        return directories_lost_sentence(job);
}

/* A job that has run before waits until it can go on. A new job is tried a few times and then fails; in a
 * private daemon it fails at once. */
static bool is_tried_again(const Job *job, int error) {
        if (!limit_may_pass(error) || job->row.end_wanted != PLAN_END_NOT ||
                        context_lacks_for_ever(job->context, error))
                return false;
        return job->row.life > 0 || (job->context->mode != DAEMON_RUN && job->n_delays < FIRST_DELAYS_MAX);
}

static int on_delay(sd_event_source *source, uint64_t usec, void *userdata) {
        Job *job = userdata;

        job->backoff = sd_event_source_disable_unref(job->backoff);
        job_start(job);
        return 0;
}

int job_start_later(Job *job, const char *name, uint64_t wait_usec) {
        return timer_start(job->context->event, &job->backoff, name, wait_usec, on_delay, job);
}

/* Tries again to begin the life, after a pause that grows with each try. */
static void begin_later(Job *job, const char *sentence) {
        g_autofree char *fault = g_strdup_printf("%s; actord tries again", sentence);
        uint64_t wait_usec = job_delay_usec(job->n_delays);

        if (job->n_delays++ == 0)
                log_line(LOG_WARNING, "Job %" PRIu64 " cannot begin life %" PRIu64 " now: %s.", job->row.id,
                                job->row.life + 1, fault);
        job_set_fault(job, fault);
        job_life_clear(job);
        if (job_start_later(job, "begin-later", wait_usec) < 0) {
                job_give_up(job, sentence);
                return;
        }
        job_arm_runtime(job);
}

static void cannot_begin(Job *job, const char *what, int error) {
        g_autofree char *sentence = sentence_of_start(job, what, error);

        if (is_tried_again(job, error))
                begin_later(job, sentence);
        else
                job_give_up(job, sentence);
}

static void set_row_state(Job *job, const char *word) {
        free(job->row.state);
        job->row.state = strdup(word);
}

/* Writes the life into the job's row. A restarted daemon that finds the row asks for the life's usage.
 * Negative: the ledger did not take the row, so nothing may be launched. */
static int note_life(Job *job) {
        int r;

        job->row.life++;
        set_row_state(job, "running");
        if (job->row.started_usec == 0)
                job->row.started_usec = (uint64_t) g_get_real_time();
        r = job_save(job);
        if (r < 0)
                return r;
        expect_answer(job);
        return 0;
}

/* Takes back the number of a life that was not launched, so that the next try uses it again. */
static void unnote_life(Job *job, const char *row_state, uint64_t started_usec) {
        job->row.life--;
        set_row_state(job, row_state);
        job->row.started_usec = started_usec;
        /* A job that has had no life has no cgroup to remove. */
        if (job->row.life == 0)
                job_answer_forget(job);
        (void) job_save(job);
}

/* Whether the launch is put off: the spawner has enough launches of the job's user already, or it is of
 * another build than this daemon, which must be restarted. Then no process was made. A run's daemon is not
 * restarted. */
static bool is_put_off(const Job *job, const LaunchAnswer *answer) {
        bool busy = answer->step == LAUNCH_STEP_MESSAGE && answer->error == -EAGAIN;

        return job->row.end_wanted == PLAN_END_NOT &&
               (busy || (is_of_other_build(answer) && job->context->mode != DAEMON_RUN));
}

/* Takes the life back and begins it later. It must not count as a life that failed: after a restart of the
 * host, all jobs of a user begin their next lives at once. */
static void put_off(Job *job, const LaunchAnswer *answer) {
        bool first = job->row.life == 1, replaced = is_of_other_build(answer);
        g_autofree char *sentence = g_strdup_printf(
                        "its launch was put off: %s", replaced ? replaced_words(job) : answer->message);

        job->launch = launch_call_free(job->launch);
        unnote_life(job, first ? "queued" : "running", first ? 0 : job->row.started_usec);
        if (first && !replaced && job->n_delays >= FIRST_DELAYS_MAX)
                job_give_up(job, sentence);
        else
                begin_later(job, sentence);
}

static void on_answered(const LaunchAnswer *answer, int pid_fd, void *userdata) {
        Job *job = userdata;
        int r;

        if (answer->error < 0) {
                (void) close_fd(pid_fd);
                if (is_put_off(job, answer))
                        put_off(job, answer);
                else
                        launch_failed(job, answer);
                return;
        }

        job->n_delays = 0;
        job->answer = *answer;
        job->launch = launch_call_free(job->launch);
        job_answer_keep(job);
        if (pid_fd < 0 && answer->pid > 0)
                pid_fd = (int) syscall(SYS_pidfd_open, answer->pid, 0);
        watch_invoker(job, pid_fd);
        job_changed(job, JOB_CHANGE_STATE);
        r = connect_invoker(job);
        if (r < 0) {
                job->link_over = true;
                job_look(job);
        }
}

/* Asks the spawner to launch the life. Closes checkpoint_fd in every case. Negative: *ret_what names what
 * failed. */
static int launch_life(Job *job, int checkpoint_fd, const char **ret_what) {
        LaunchRequest request;
        int r;

        for (size_t i = 0; i < G_N_ELEMENTS(request.fds); i++)
                request.fds[i] = -EBADF;
        r = job_launch_prepare(job, checkpoint_fd, &request, ret_what);
        job->progress.round = job->resume_round;
        if (r >= 0) {
                *ret_what = "its spawner";
                r = launch_call(job->context->event,
                                job->context->mode == DAEMON_SYSTEM ? SPAWN_SOCKET : NULL, &request,
                                on_answered, job, &job->launch);
        }
        /* The start is announced only now, since a try that fails is followed by other tries of the same
         * life. */
        if (r >= 0)
                say_starting(job);
        for (size_t i = 0; i < G_N_ELEMENTS(request.fds); i++)
                (void) close_fd(request.fds[i]);
        return r;
}

/* Begins a life from a checkpoint. round: the checkpoint's. Closes checkpoint_fd in every case. */
static void begin_life(Job *job, int checkpoint_fd, uint64_t round) {
        g_autofree char *row_state = g_strdup(job->row.state);
        uint64_t started_usec = job->row.started_usec;
        const char *what;
        int r;

        if (checkpoint_fd < 0 && limit_may_pass(checkpoint_fd)) {
                cannot_begin(job, "its checkpoint", checkpoint_fd);
                return;
        }
        r = note_life(job);
        if (r < 0) {
                (void) close_fd(checkpoint_fd);
                unnote_life(job, row_state, started_usec);
                cannot_begin(job, "its row in the ledger", r);
                return;
        }
        job->resume_round = round;
        job_schedule_anew(job);
        r = job_load_progress(job, job->row.life > 1);
        if (r < 0) {
                (void) close_fd(checkpoint_fd);
                unnote_life(job, row_state, started_usec);
                cannot_begin(job, "its earlier work in the ledger", r);
                return;
        }
        job_distribute(job);
        r = launch_life(job, checkpoint_fd, &what);
        if (r < 0) {
                if (limit_may_pass(r))
                        unnote_life(job, row_state, started_usec);
                cannot_begin(job, what, r);
                return;
        }
        job_arm_deadline(job,
                        START_TIMEOUT_USEC + LAUNCH_ANSWER_MSEC(settings_scopes(&job->settings)) * 1000ull,
                        "it did not start in time");
        job_arm_runtime(job);
}

void job_start(Job *job) {
        assert(job);
        assert(!job->launch && !job->link);

        if (job->row.frozen_usec > 0) {
                job_requeue(job);
                return;
        }
        job_turn_begin(job);
        job_set_state(job, JOB_STARTING);
        if (job->row.life >= WASTE_LIVES_MAX) {
                job_give_up(job,
                                "it has had as many lives as a job may have (a life begins whenever the job "
                                "leaves the queue): submit it again, with its newest checkpoint");
                return;
        }
        job_checkpoint_choose(job, begin_life);
}

int job_adopt(Job *job) {
        int r;

        assert(job);

        job_turn_begin(job);
        r = job_load_progress(job, false);
        if (r < 0)
                return r;
        job_answer_find(job);
        job->resume_round = 0;
        job->adopting = true;

        job->exited = true;
        r = connect_invoker(job);
        if (r < 0) {
                /* How the invoker ended is in its last record, if there is one, and not in this error. */
                job->link_over = true;
                job->life_error = g_strdup("its invoker was gone when the daemon came back");
                /* The daemon was killed before the spawner's answer came. That is not the job's fault. */
                if (job->answer.life == job->row.life && job->answer.pid == 0)
                        job->life_error_number = EAGAIN;
                job_look(job);
                return 0;
        }
        job_arm_runtime(job);
        if (job->progress.ended && job->progress.life == job->row.life && !job_moves(job) &&
                        job->progress.end != PLAN_END_PREEMPTED)
                job_set_state(job, JOB_ENDING);
        job_arm_deadline(job, START_TIMEOUT_USEC, "its invoker did not greet the new daemon within 60 s");
        return 0;
}
