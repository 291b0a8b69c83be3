/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Down: a life of a job is prepared, launched, connected to; or, after a restart of the daemon, found again. What the spawner said is kept in a
 * small file beside the socket: it means something until the machine restarts, and so does the file. */
#include "daemon/job.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "daemon/files.h"
#include "include/bus.h"
#include "include/sandbox.h"
#include "lib/boottime.h"
#include "lib/cleanup.h"
#include "lib/environments.h"
#include "lib/fd.h"
#include "lib/limits.h"
#include "lib/settings-print.h"
#include "lib/settings.h"
#include "lib/words.h"

enum { UID_RANGES = (UID_RANGE_END - UID_RANGE_FIRST) / UIDS_MAX };

static void socket_name(const Job *job, char ret[32]) {
        (void) snprintf(ret, 32, "%" PRIu64 ".sock", job->row.id);
}

static void answer_name(const Job *job, char ret[32]) {
        (void) snprintf(ret, 32, "%" PRIu64 ".launch", job->row.id);
}

/* The invoker will accept on it; the descriptor of ours is closed after the launch, so that a dead invoker refuses us. */
static int listen_for_us(const Job *job) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        _cleanup_close_ int fd = -EBADF;
        char name[32];
        int n;

        socket_name(job, name);
        n = snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s",
                        job->manager->sockets_fd, name);
        assert(n > 0 && (size_t) n < sizeof(address.sun_path));

        fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return -errno;
        (void) unlinkat(job->manager->sockets_fd, name, 0);
        if (bind(fd, (const struct sockaddr *) &address, sizeof(address)) < 0 || listen(fd, 4) < 0)
                return -errno;
        return TAKE_FD(fd);
}

/* The caller's in run mode; elsewhere the job's own journal stream (Launch.journal), or where our own words go. */
static int open_stderr(const Job *job) {
        return fcntl(job->stderr_fd >= 0 ? job->stderr_fd : STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
}

static void fill_launch(Job *job, Launch *launch) {
        Manager *m = job->manager;
        bool ranges = manager_reserves_ids(m);
        /* Other private daemons have jobs of the same number. */
        uint64_t range = job->row.id + (m->mode == DAEMON_SYSTEM ? 0 : (uint64_t) getpid());

        *launch = (Launch){
                .abi = LAUNCH_ABI,
                .struct_bytes = sizeof(Launch),
                .job = job->row.id,
                .life = job->row.life,
                .purpose = job->row.purpose,
                .manager = m->launch_manager,
                .uid_first = ranges ? UID_RANGE_FIRST + (uint32_t) (range % UID_RANGES) * UIDS_MAX
                                    : (uint32_t) getuid(),
                .n_uids = ranges ? UIDS_MAX : 1,
                .sandbox = job->settings.sandbox,
                .scope_each = job->settings.actor_scope == ACTOR_SCOPE_EACH
                                              ? settings_processes(&job->settings)
                                              : 0,
                .exit_with_daemon = m->mode == DAEMON_RUN,
                .journal = m->mode != DAEMON_RUN && m->launch_manager != LAUNCH_MANAGER_NONE,
                .resume_round = job->resume_round,
                .n_episodes = job->row.n_episodes,
                .owner = (uint32_t) getpid(),
                .submitter = job->row.uid,
        };
}

static int add_plugin(Job *job, LaunchRequest *request) {
        const char *slash = strrchr(job->settings.environment, '/');
        LaunchMount *mount = request->launch.mounts;
        int fd;

        if (!environment_is_file(job->settings.environment))
                return 0;
        fd = job_file_open(job->manager->jobs_fd, job->row.id, BUS_FILE_ENVIRONMENT);
        if (fd < 0)
                return fd;

        request->fds[_LAUNCH_FD_FIXED] = fd;
        request->launch.n_mounts = 1;
        mount->read_only = 1;
        (void) snprintf(mount->at, sizeof(mount->at), PLUGIN_DIRECTORY "%s", slash + 1);
        return 0;
}

static int add_directory(const Job *job, LaunchRequest *request) {
        const char *at = environment_directory(&job->settings);
        LaunchMount *mount = &request->launch.mounts[request->launch.n_mounts];
        int fd;

        if (!at)
                return 0;
        if (job->directory_fd < 0)
                return -ESTALE;
        fd = fcntl(job->directory_fd, F_DUPFD_CLOEXEC, 3);
        if (fd < 0)
                return -errno;

        request->fds[_LAUNCH_FD_FIXED + request->launch.n_mounts++] = fd;
        *mount = (LaunchMount){ .read_only = 1 };
        (void) snprintf(mount->at, sizeof(mount->at), "%s", at);
        return 0;
}

/* With those of its inner job, if it has one. Nobody below hears of Policy=auto, only of what it came to. A descriptor, or negative. */
static int seal_settings(const Job *job) {
        g_autofree JobSettings *both = g_new0(JobSettings, 2);
        g_autofree char *message = NULL;
        int r;

        both[0] = job->settings;
        both[0].distribution = job_distribution(job, &both[0].n_learners, NULL);
        if (!environment_is_job(job->settings.environment))
                return memfd_make_sealed("actord-settings", both, sizeof(JobSettings));

        r = settings_parse_inner(job->row.text, job->row.file_name, &job->settings, &both[1], &message);
        return r < 0 ? r : memfd_make_sealed("actord-settings", both, 2 * sizeof(JobSettings));
}

/* checkpoint_fd: what job_checkpoint_choose() returned. *ret_what: what could not be had. The descriptors
 * are in the request, whether it failed or not. */
static int prepare(Job *job, int checkpoint_fd, LaunchRequest *request, const char **ret_what) {
        bool begins_anew = checkpoint_fd == -ENOENT && job->row.purpose != LAUNCH_EVALUATE;
        int r;

        *ret_what = "its checkpoint";
        if (checkpoint_fd < 0 && !begins_anew)
                return checkpoint_fd;
        fill_launch(job, &request->launch);
        request->launch.has_checkpoint = !begins_anew;
        request->fds[LAUNCH_FD_CHECKPOINT] =
                        begins_anew ? open("/dev/null", O_RDONLY | O_CLOEXEC) : checkpoint_fd;

        *ret_what = "memory for its settings";
        r = request->fds[LAUNCH_FD_SETTINGS] = seal_settings(job);
        if (r < 0)
                return r;
        *ret_what = "a stream for its actors' words";
        r = request->fds[LAUNCH_FD_STDERR] = open_stderr(job);
        if (r < 0)
                return r;
        *ret_what = "its directory";
        r = request->fds[LAUNCH_FD_STATE] = job_state_open(job->manager->jobs_fd, job->row.id);
        if (r < 0)
                return r;
        *ret_what = "its socket";
        r = request->fds[LAUNCH_FD_SOCKET] = listen_for_us(job);
        if (r < 0)
                return r;
        *ret_what = "its environment";
        r = add_plugin(job, request);
        if (r < 0)
                return r;
        *ret_what = "the directory of its virtual environment or model";
        return add_directory(job, request);
}

static int on_pid(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Job *job = userdata;

        job->exited = true;
        job->pid_source = sd_event_source_disable_unref(job->pid_source);
        job_life_check(job);
        return 0;
}

/* A pidfd becomes readable when the process ends, whose child it ever was. */
static void watch_invoker(Job *job, int pid_fd) {
        job->pid_fd = pid_fd;
        job->exited = job->pid_fd < 0;
        if (job->pid_fd < 0)
                return;
        if (sd_event_add_io(job->manager->event, &job->pid_source, job->pid_fd, EPOLLIN, on_pid, job) < 0)
                job->exited = true;
        else
                (void) sd_event_source_set_description(job->pid_source, "invoker-exit");
}

/* Only the job's own ids, ours and root's can be: anybody else has no business at this socket. */
static bool peer_may_be_invoker(const struct ucred *peer) {
        return peer->uid == 0 || peer->uid == getuid() ||
               (peer->uid >= UID_RANGE_FIRST && peer->uid < UID_RANGE_END);
}

static int on_hello(const Hello *hello, const struct ucred *peer, void *userdata) {
        Job *job = userdata;
        uint64_t seq = 0;
        int r;

        if (hello->job != job->row.id || hello->life != job->row.life)
                return -EBADMSG;
        if (!peer_may_be_invoker(peer))
                return -EPERM;

        r = ledger_last_seq(job->manager->ledger, job->row.id, job->row.life, &seq);
        if (r < 0)
                return r;
        if (seq > hello->written)
                return -EBADMSG;
        plan_link_seek(job->link, seq);
        job->acknowledged = seq;

        if (job->progress.started && job->progress.life == job->row.life)
                job_watch_start(job);
        if (job->adopting) {
                LogEntry entry;

                job->adopting = false;
                job->deadline = sd_event_source_disable_unref(job->deadline);
                /* The kernel's word for who is there now: a number that we noted once may be somebody else's by today. */
                watch_invoker(job, (int) syscall(SYS_pidfd_open, peer->pid, 0));
                job_log_begin(&entry, job, MESSAGE_JOB_ADOPTED);
                log_send(&entry, LOG_INFO, "Job %" PRIu64 " was taken up again in round %" PRIu64 ".",
                                job->row.id, hello->round);
        }
        return 0;
}

/* Before it could say Hello: a limit of the host, most likely. */
static int on_failed(const Failed *failed, const struct ucred *peer, void *userdata) {
        Job *job = userdata;

        if (!peer_may_be_invoker(peer))
                return -EPERM;
        g_free(job->life_error);
        job->life_error = g_strdup_printf("its invoker could not begin: %s: %s%s",
                        invoker_step_sentence(failed->step), g_strerror(-failed->error),
                        limit_advice(failed->error));
        job->life_hopeless = limit_is_lasting(failed->error);
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
                /* It has been told to end; it is not believed to. */
                g_free(job->life_error);
                job->life_error = g_strdup_printf(
                                "its invoker said something impossible (%s)", g_strerror(-error));
                job_arm_deadline(job, 0, NULL);
                return;
        }
        job_life_check(job);
}

static const PlanLinkOps link_ops = {
        .hello = on_hello, .written = on_written, .failed = on_failed, .closed = on_closed
};

static int connect_invoker(Job *job) {
        _cleanup_close_ int fd = -EBADF;
        char name[32];
        int r;

        socket_name(job, name);
        fd = plan_connect(job->manager->sockets_fd, name);
        if (fd < 0)
                return fd;
        r = plan_link_new(job->manager->event, fd, &link_ops, job, &job->link);
        if (r < 0)
                return r;
        (void) TAKE_FD(fd);
        job->link_over = false;
        return 0;
}

static void keep_answer(const Job *job) {
        _cleanup_close_ int fd = -EBADF;
        char name[32];

        answer_name(job, name);
        fd = openat(job->manager->sockets_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (fd >= 0)
                (void) write_full(fd, &job->answer, sizeof(job->answer));
}

static void find_answer(Job *job) {
        _cleanup_close_ int fd = -EBADF;
        LaunchAnswer answer;
        char name[32];

        answer_name(job, name);
        fd = openat(job->manager->sockets_fd, name, O_RDONLY | O_CLOEXEC);
        if (fd >= 0 && read_full(fd, &answer, sizeof(answer)) >= 0 && answer.abi == LAUNCH_ABI)
                job->answer = answer;
}

/* The scope of the life before may still be going, systemd or the spawner may be busy or just restarted. What the job asked for in vain will not pass. */
static bool may_pass(const LaunchAnswer *answer) {
        bool asked_systemd = answer->step == LAUNCH_STEP_SCOPE || answer->step == LAUNCH_STEP_DELEGATION;

        return (asked_systemd && answer->error != -EOPNOTSUPP) || answer->error == -ETIMEDOUT ||
               answer->error == -EPIPE || answer->error == -EAGAIN;
}

static void on_answered(const LaunchAnswer *answer, int pid_fd, void *userdata) {
        Job *job = userdata;
        int r;

        job->answer = *answer;
        job->launch = launch_call_free(job->launch);
        if (answer->error < 0) {
                g_autofree char *sentence = g_strdup_printf("its launch failed at step %s: %s%s",
                                launch_step_to_string(answer->step),
                                *answer->message ? answer->message : g_strerror(-answer->error),
                                limit_advice(answer->error));

                (void) close_fd(pid_fd);
                if (may_pass(answer))
                        job_life_failed(job, sentence);
                else
                        job_give_up(job, sentence);
                return;
        }

        keep_answer(job);
        if (pid_fd < 0 && answer->pid > 0)
                pid_fd = (int) syscall(SYS_pidfd_open, answer->pid, 0);
        watch_invoker(job, pid_fd);
        job_changed(job, JOB_CHANGE_STATE);
        r = connect_invoker(job);
        if (r < 0) {
                job->link_over = true;
                job_life_check(job);
        }
}

static int on_runtime(sd_event_source *source, uint64_t usec, void *userdata) {
        Job *job = userdata;
        LogEntry entry;

        job_log_begin(&entry, job, MESSAGE_RUNTIME_EXCEEDED);
        log_send(&entry, LOG_NOTICE, "Job %" PRIu64 " has run for RuntimeMaxSec=.", job->row.id);
        (void) job_stop(job, PLAN_END_RUNTIME, "RuntimeMaxSec= is over");
        return 0;
}

/* Counted from the job's first start, so that lives and restarts do not prolong it, without the time that
 * it was back in the queue. */
static void arm_runtime(Job *job) {
        uint64_t gone = (uint64_t) g_get_real_time() - job->row.started_usec - job->row.paused_usec;
        uint64_t most = job->settings.runtime_max_usec;

        if (!settings_present(&job->settings, SETTING_Job_RuntimeMaxSec) || job->runtime_timer)
                return;
        if (sd_event_add_time_relative(job->manager->event, &job->runtime_timer, CLOCK_BOOTTIME,
                            gone < most ? most - gone : 0, 0, on_runtime, job) >= 0)
                (void) sd_event_source_set_description(job->runtime_timer, "runtime-max");
}

static bool is_kept_waiting(const Job *job) {
        bool read_to_its_end = job->progress.ended && job->progress.life == job->row.life;

        return (job->waits_checkpoint > 0 && !job->end.noted) ||
               (read_to_its_end && job->link && job->acknowledged < plan_link_position(job->link));
}

static int on_deadline(sd_event_source *source, uint64_t usec, void *userdata) {
        Job *job = userdata;

        job->deadline = sd_event_source_disable_unref(job->deadline);
        /* It has to keep for us what we cannot write, or has not been able to write its checkpoint: it is
         * not to blame for that, unless it does not answer or says nonsense. */
        if (!job->exited && !job->life_error && is_kept_waiting(job)) {
                job_arm_deadline(job, COMMIT_RETRY_USEC, job->deadline_what);
                return 0;
        }
        if (job->deadline_what && !job->life_error)
                job->life_error = g_strdup(job->deadline_what);
        if (job->exited || job->pid_fd < 0) {
                job->link_over = job->exited = true;
                job_life_check(job);
                return 0;
        }

        /* Killed, it closes its socket and its exit is seen; if it cannot be killed, or not even that helps, we go on without it. */
        if (job->kill_tried || syscall(SYS_pidfd_send_signal, job->pid_fd, SIGKILL, NULL, 0) < 0) {
                job_say_leftover(job, "its invoker neither ends nor can be killed");
                job->link_over = job->exited = true;
                job_life_check(job);
                return 0;
        }
        job->kill_tried = true;
        job_arm_deadline(job, EXIT_TIMEOUT_USEC, NULL);
        return 0;
}

void job_arm_deadline(Job *job, uint64_t usec, const char *what) {
        assert(job);

        job->deadline_what = what;
        job->deadline = sd_event_source_disable_unref(job->deadline);
        if (sd_event_add_time_relative(job->manager->event, &job->deadline, CLOCK_BOOTTIME, usec, 0,
                            on_deadline, job) >= 0)
                (void) sd_event_source_set_description(job->deadline, "job-deadline");
}

static void say_starting(Job *job) {
        const char *why, *word = choice_distribution_to_string(job_distribution(job, NULL, &why));
        LogEntry entry;

        job_log_begin(&entry, job, MESSAGE_JOB_STARTING);
        log_field(&entry, "ACTORD_DISTRIBUTION=%s", word);
        log_send(&entry, LOG_INFO, "Job %" PRIu64 " (%s) starts, life %" PRIu64 "%s%s%s%s.", job->row.id,
                        job->settings.environment, job->row.life, why ? ": auto takes " : "",
                        why ? word : "", why ? ", since " : "", why ? why : "");
}

static char *sentence_of_start(const Job *job, const char *what, int error) {
        const JobSettings *s = &job->settings;
        bool model = environment_is_mjcf(s->environment);

        if (error != -ESTALE || job->directory_fd >= 0)
                return g_strdup_printf(
                                "%s could not be had: %s%s", what, g_strerror(-error), limit_advice(error));
        /* Only its submitter can open it again. */
        return g_strdup_printf(
                        "the directory of %s was not kept while the daemon was away (systemd keeps it over "
                        "a restart of the daemon, but not when the daemon is stopped or the machine "
                        "restarts): submit the job again",
                        model ? "Environment=" : "Python=");
}

void job_start(Job *job) {
        LaunchRequest request;
        const char *what;
        int r, checkpoint_fd;

        assert(job);
        assert(!job->launch && !job->link);

        job_turn_begin(job);
        job->row.life++;
        if (job->row.started_usec == 0)
                job->row.started_usec = (uint64_t) g_get_real_time();
        job_set_state(job, JOB_STARTING);
        (void) job_save(job);
        checkpoint_fd = job_checkpoint_choose(job, &job->resume_round);
        job_schedule_anew(job);
        (void) job_load_progress(job, job->row.life > 1);
        job_distribute(job);

        for (size_t i = 0; i < G_N_ELEMENTS(request.fds); i++)
                request.fds[i] = -EBADF;
        r = prepare(job, checkpoint_fd, &request, &what);
        job->progress.round = job->resume_round;
        if (r >= 0) {
                what = "its spawner";
                say_starting(job);
                r = launch_call(job->manager->event,
                                job->manager->mode == DAEMON_SYSTEM ? SPAWN_SOCKET : NULL, &request,
                                on_answered, job, &job->launch);
        }
        for (size_t i = 0; i < G_N_ELEMENTS(request.fds); i++)
                (void) close_fd(request.fds[i]);

        if (r < 0) {
                g_autofree char *sentence = sentence_of_start(job, what, r);

                job_give_up(job, sentence);
                return;
        }
        job_arm_deadline(job, START_TIMEOUT_USEC, "it did not start within 60 s");
        arm_runtime(job);
}

void job_adopt(Job *job) {
        int r;

        assert(job);

        job_turn_begin(job);
        (void) job_load_progress(job, false);
        find_answer(job);
        job->resume_round = 0;
        job->adopting = true;

        job->exited = true;
        r = connect_invoker(job);
        if (r < 0) {
                /* Unless it had said its last: then that is how it ended, though the daemon went before it could write so. */
                job->link_over = true;
                job->life_error = g_strdup("it was gone when the daemon came back");
                job_life_check(job);
                return;
        }
        arm_runtime(job);
        if (job->progress.ended && job->progress.life == job->row.life && !job_moves(job) &&
                        job->progress.end != PLAN_END_PREEMPTED)
                job_set_state(job, JOB_ENDING);
        job_arm_deadline(job, START_TIMEOUT_USEC, "it did not greet the daemon that came back within 60 s");
}

int job_stop(Job *job, uint32_t end, const char *reason) {
        LogEntry entry;

        assert(job);
        assert(end != PLAN_END_NOT && end < _PLAN_END_MAX);

        if (job->state == JOB_ENDED)
                return -ESRCH;
        if (job->end.noted)
                return 0;
        if (job->end_wanted != PLAN_END_NOT) {
                /* Asked twice, it does without a checkpoint that cannot be written. A run has KeepRest() for that. */
                if (job->waits_checkpoint > 0 && job->manager->mode != DAEMON_RUN) {
                        job_leave(job);
                        job_arm_deadline(job, 0, NULL);
                }
                return 0;
        }

        job->end_wanted = end;
        job_log_begin(&entry, job, MESSAGE_JOB_STOPPING);
        log_field(&entry, "ACTORD_REASON=%s", reason);
        log_send(&entry, LOG_INFO, "Job %" PRIu64 " is to end: %s.", job->row.id, reason);

        if (job->state == JOB_QUEUED || job->backoff) {
                job_life_check(job);
                return 0;
        }
        job->stop_deadline_nsec = clock_boottime() + STOP_TIMEOUT_USEC * 1000;
        if (job->state == JOB_RUNNING)
                job_set_state(job, JOB_ENDING);
        job_send_plan(job);
        job_arm_deadline(job, STOP_TIMEOUT_USEC + EXIT_TIMEOUT_USEC, NULL);
        return 0;
}
