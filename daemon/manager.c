/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which job may run, when records become durable, how the daemon begins and ends. */
#include "daemon/manager.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>
#include "daemon/access.h"
#include "daemon/copies.h"
#include "daemon/descriptors.h"
#include "daemon/ended.h"
#include "daemon/files.h"
#include "daemon/job.h"
#include "daemon/line.h"
#include "daemon/ends.h"
#include "daemon/older.h"
#include "daemon/places.h"
#include "daemon/removals.h"
#include "daemon/rest.h"
#include "daemon/trim.h"
#include "daemon/turns.h"
#include "include/launch.h"
#include "include/plan.h"
#include "lib/cleanup.h"
#include "lib/limits.h"
#include "lib/words.h"

static const char *const daemon_modes[_DAEMON_MODE_MAX] = {
#define X(name, word) [DAEMON_##name] = word,
        DAEMON_MODES(X)
#undef X
};

const char *daemon_mode_to_string(DaemonMode mode) {
        return (int) mode >= 0 && mode < _DAEMON_MODE_MAX ? daemon_modes[mode] : NULL;
}

DEFINE_CLEANUP(Manager *, manager_free)

static const char *first_of_path(const char *name) {
        /* systemd gives a list; one is all that our unit asks for. */
        const char *e = getenv(name);

        return e && *e == '/' ? e : NULL;
}

static char *default_state(DaemonMode mode) {
        const char *e = first_of_path("STATE_DIRECTORY");

        if (e)
                return g_strdup(e);
        if (mode == DAEMON_SYSTEM)
                return g_strdup("/var/lib/actord");
        e = first_of_path("XDG_STATE_HOME");
        return e ? g_build_filename(e, "actord", NULL)
                 : g_build_filename(g_get_home_dir(), ".local", "state", "actord", NULL);
}

static char *default_runtime(DaemonMode mode, const char *state_directory) {
        const char *e = mode == DAEMON_RUN ? NULL : first_of_path("RUNTIME_DIRECTORY");

        if (e)
                return g_strdup(e);
        if (mode == DAEMON_SYSTEM)
                return g_strdup("/run/actord");
        e = mode == DAEMON_USER ? first_of_path("XDG_RUNTIME_DIR") : NULL;
        return e ? g_build_filename(e, "actord", NULL) : g_build_filename(state_directory, "run", NULL);
}

/* Whether a systemd manager answers. Asked once, at the start, with a deadline of its own. */
static bool manager_answers(bool system) {
        sd_bus *bus = NULL;
        bool answers = false;

        if (sd_booted() <= 0)
                return false;
        if ((system ? sd_bus_open_system(&bus) : sd_bus_open_user(&bus)) >= 0) {
                (void) sd_bus_set_method_call_timeout(bus, 2000 * 1000);
                answers = sd_bus_call_method(bus, "org.freedesktop.systemd1", "/org/freedesktop/systemd1",
                                          "org.freedesktop.DBus.Peer", "Ping", NULL, NULL, NULL) >= 0;
        }
        (void) sd_bus_flush_close_unref(bus);
        return answers;
}

static uint32_t find_launch_manager(DaemonMode mode) {
        bool system = mode == DAEMON_SYSTEM || (mode == DAEMON_RUN && geteuid() == 0);

        if (mode != DAEMON_SYSTEM && !manager_answers(system))
                return LAUNCH_MANAGER_NONE;
        return system ? LAUNCH_MANAGER_SYSTEM : LAUNCH_MANAGER_USER;
}

static int read_config(Manager *manager) {
        g_autofree char *message = NULL, *directory = NULL;
        long n_cpus = sysconf(_SC_NPROCESSORS_ONLN);
        int r = 0;

        config_init(&manager->config);
        if (manager->mode == DAEMON_SYSTEM)
                r = config_read(&manager->config, "/etc/actord", &message);
        else if (manager->mode == DAEMON_USER) {
                directory = g_build_filename(g_get_user_config_dir(), "actord", NULL);
                r = config_read(&manager->config, directory, &message);
        }
        if (r < 0) {
                log_line(LOG_ERR, "%s", message);
                return r;
        }
        if (manager->config.max_jobs == 0)
                manager->config.max_jobs = n_cpus > 0 ? (uint32_t) n_cpus : 1;
        return 0;
}

static int open_directories(Manager *manager) {
        const char *const paths[] = { manager->state_directory, manager->runtime_directory };
        int *const fds[] = { &manager->jobs_fd, &manager->sockets_fd };

        for (size_t i = 0; i < 2; i++) {
                /* A stranger's first use: parents, too. What systemd made has its modes already. */
                if (g_mkdir_with_parents(paths[i], 0700) < 0) {
                        int r = -errno;

                        log_line(LOG_ERR, "Directory %s cannot be made: %s%s.", paths[i], g_strerror(-r),
                                        limit_advice(r));
                        return r;
                }
                g_autofree char *jobs = g_build_filename(paths[i], "jobs", NULL);

                *fds[i] = directory_make(AT_FDCWD, jobs);
                if (*fds[i] < 0) {
                        log_line(LOG_ERR, "Directory %s cannot be used: %s%s.", jobs, g_strerror(-*fds[i]),
                                        limit_advice(*fds[i]));
                        return *fds[i];
                }
        }
        return 0;
}

static int say_second(const Manager *manager) {
        LogEntry entry;

        log_begin(&entry, MESSAGE_DAEMON_SECOND);
        log_field(&entry, "ACTORD_STATE=%s", manager->state_directory);
        log_send(&entry, LOG_ERR, "Another actord has the ledger in %s; this one ends.",
                        manager->state_directory);
        return -EBUSY;
}

static int open_ledger(Manager *manager) {
        g_autofree char *path = g_build_filename(manager->state_directory, "ledger.sqlite", NULL);
        int r;

        r = limits_check_file_size();
        if (r < 0) {
                log_line(LOG_ERR, "No file can hold a job's records here: %s%s.", g_strerror(-r),
                                limit_advice(r));
                return r;
        }
        r = ledger_open(path, &manager->ledger);
        if (r == -EBUSY)
                return say_second(manager);
        if (r == -EUCLEAN)
                log_line(LOG_ERR,
                                "%s is damaged, no ledger, or one of a newer actord: install that version, or restore a copy of it, or move it "
                                "away (`sqlite3 FILE .recover` reads what is left of a damaged one).",
                                path);
        else if (r < 0)
                log_line(LOG_ERR, "The ledger %s cannot be opened: %s%s.", path, g_strerror(-r),
                                limit_advice(r));
        if (r >= 0 && ledger_is_full(manager->ledger))
                manager_ledger_blocked(manager, -ENOSPC);
        return r;
}

static int on_sigchld(sd_event_source *source, const struct signalfd_siginfo *si, void *userdata) {
        /* Spawners, and in run mode whatever of a job lost its parent. Ends are noticed by pidfds and sockets, not here. */
        while (waitpid(-1, NULL, WNOHANG) > 0)
                ;
        return 0;
}

static int on_terminate(sd_event_source *source, const struct signalfd_siginfo *si, void *userdata) {
        manager_stop(userdata);
        return 0;
}

static int add_signals(Manager *manager) {
        sigset_t set;
        int r;

        (void) sigemptyset(&set);
        (void) sigaddset(&set, SIGCHLD);
        (void) sigaddset(&set, SIGTERM);
        (void) sigaddset(&set, SIGINT);
        if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
                return -errno;
        r = sd_event_add_signal(manager->event, &manager->sigchld_source, SIGCHLD, on_sigchld, manager);
        if (r >= 0)
                r = sd_event_add_signal(
                                manager->event, &manager->sigterm_source, SIGTERM, on_terminate, manager);
        if (r >= 0)
                r = sd_event_add_signal(
                                manager->event, &manager->sigint_source, SIGINT, on_terminate, manager);
        return r;
}

int manager_new(DaemonMode mode, const char *state_directory, int run_fd, Manager **ret) {
        _cleanup_(manager_freep) Manager *manager = NULL;
        int r;

        assert(ret);

        manager = g_new0(Manager, 1);
        manager->mode = mode;
        manager->jobs_fd = manager->sockets_fd = -EBADF;
        manager->jobs = g_ptr_array_new();
        manager->state_directory = state_directory ? g_strdup(state_directory) : default_state(mode);
        manager->runtime_directory = default_runtime(mode, manager->state_directory);
        access_queries_init(manager);
        copies_init(manager);
        manager->lines = lines_new(manager);
        manager->configs = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);

        r = sd_event_default(&manager->event);
        if (r < 0)
                return r;
        r = read_config(manager);
        if (r < 0)
                return r;
        r = add_signals(manager);
        if (r < 0)
                return r;
        r = open_directories(manager);
        if (r < 0)
                return r;
        r = manager_bus_new(manager, run_fd);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(manager);
        return 0;
}

Manager *manager_free(Manager *manager) {
        if (!manager)
                return NULL;

        (void) sd_event_source_disable_unref(manager->commit_timer);
        (void) sd_event_source_disable_unref(manager->schedule_source);
        (void) sd_event_source_disable_unref(manager->older_source);
        (void) sd_event_source_disable_unref(manager->places_timer);
        (void) sd_event_source_disable_unref(manager->idle_timer);
        (void) sd_event_source_disable_unref(manager->sigchld_source);
        (void) sd_event_source_disable_unref(manager->sigterm_source);
        (void) sd_event_source_disable_unref(manager->sigint_source);
        (void) sd_event_source_disable_unref(manager->stop_timer);
        removals_done(manager);
        trim_done(manager);
        g_hash_table_unref(manager->queries);
        g_hash_table_unref(manager->copies);
        g_hash_table_unref(manager->senders);
        manager->lines = lines_free(manager->lines);
        manager->turns = turns_free(manager->turns);
        g_hash_table_unref(manager->configs);
        for (guint i = 0; i < manager->jobs->len; i++)
                (void) job_free(manager->jobs->pdata[i]);
        ended_done(manager);
        g_ptr_array_unref(manager->jobs);
        manager->ledger = ledger_close(manager->ledger);
        manager->bus = sd_bus_flush_close_unref(manager->bus);
        (void) close_fd(manager->jobs_fd);
        (void) close_fd(manager->sockets_fd);
        g_free(manager->state_directory);
        g_free(manager->runtime_directory);
        manager->event = sd_event_unref(manager->event);
        g_free(manager);
        return NULL;
}

static int collect_id(const LedgerJob *row, void *userdata) {
        g_array_append_val((GArray *) userdata, row->id);
        return 0;
}

void manager_end_row(Manager *manager, LedgerJob *row) {
        assert(manager);
        assert(row);

        if (g_strcmp0(row->state, "ended") == 0)
                return;
        free(row->state);
        free(row->result);
        row->state = strdup("ended");
        row->result = strdup(plan_end_to_string(PLAN_END_FAILED));
        (void) ledger_job_update(manager->ledger, row);
}

/* A row that cannot be read any more (an older version wrote it) is said and left alone, and ends. */
static void load_job(Manager *manager, uint64_t id) {
        LedgerJob row = {};
        Job *job;

        if (ledger_job_get(manager->ledger, id, &row) < 0)
                return;
        if (job_new(manager, &row, &job) >= 0) {
                (void) manager_add(manager, job);
                return;
        }
        manager_end_row(manager, &row);
        ledger_job_done(&row);
}

static int load_jobs(Manager *manager) {
        g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(uint64_t));
        int r;

        r = ledger_jobs_foreach(manager->ledger, collect_id, ids);
        if (r < 0) {
                log_line(LOG_ERR, "The ledger's jobs cannot be read: %s%s.", g_strerror(-r),
                                limit_advice(r));
                return r;
        }
        for (guint i = 0; i < ids->len; i++)
                load_job(manager, g_array_index(ids, uint64_t, i));
        return 0;
}

static void say_ready(const Manager *manager) {
        unsigned n = manager->n_queued + manager->n_running;
        LogEntry entry;

        log_begin(&entry, MESSAGE_DAEMON_READY);
        log_field(&entry, "ACTORD_JOBS=%u", n);
        log_field(&entry, "ACTORD_MODE=%s", daemon_mode_to_string(manager->mode));
        log_field(&entry, "ACTORD_STATE=%s", manager->state_directory);
        log_send(&entry, LOG_INFO, "actord %s is ready (%s mode); %u job%s not ended.", ACTORD_VERSION,
                        daemon_mode_to_string(manager->mode), n, n == 1 ? " has" : "s have");
}

int manager_start(Manager *manager) {
        int r;

        assert(manager);

        r = open_ledger(manager);
        if (r < 0)
                return r;
        manager->launch_manager = find_launch_manager(manager->mode);
        removals_start(manager);
        r = load_jobs(manager);
        if (r < 0)
                return r;
        older_start(manager);
        trim_start(manager);
        ends_take_up(manager);
        directories_take(manager);
        r = manager_bus_start(manager);
        if (r < 0)
                return r;

        for (guint i = 0; i < manager->jobs->len; i++) {
                Job *job = manager->jobs->pdata[i];

                if (job_active(job))
                        job_adopt(job);
        }
        manager_schedule(manager);
        say_ready(manager);
        return 0;
}

/* In run mode the daemon is gone when its job is; else jobs do without us until somebody starts us again. A launch in flight is not waited for: scopes are
 * ordered after our unit, so that systemd starts none of them before we are gone. */
static bool may_exit(const Manager *manager) {
        return manager->mode != DAEMON_RUN || manager->rest_kept ||
               manager->n_queued + manager->n_running == 0;
}

static int on_stop_timeout(sd_event_source *source, uint64_t usec, void *userdata) {
        Manager *manager = userdata;
        g_autofree char *rest = NULL;

        if (manager->mode == DAEMON_RUN && rest_keep(manager, &rest) >= 0 && rest)
                log_line(LOG_ERR, "What the ledger in %s lacks is in %s: `actorctl recover` takes it in.",
                                manager->state_directory, rest);
        log_line(LOG_ERR, "actord could not end in order (its ledger in %s may be gone) and ends now.",
                        manager->state_directory);
        return sd_event_exit(manager->event, EXIT_FAILURE);
}

void manager_stop(Manager *manager) {
        assert(manager);

        if (!manager->stopping) {
                (void) sd_notify(false, "STOPPING=1\nSTATUS=Ending; running jobs go on.");
                if (sd_event_add_time_relative(manager->event, &manager->stop_timer, CLOCK_BOOTTIME,
                                    STOP_LONGEST_USEC, 0, on_stop_timeout, manager) >= 0)
                        (void) sd_event_source_set_description(manager->stop_timer, "stop-timeout");
        }
        manager->stopping = true;
        (void) manager_commit(manager);

        for (guint i = 0; manager->mode == DAEMON_RUN && i < manager->jobs->len; i++)
                (void) job_stop(manager->jobs->pdata[i], PLAN_END_INTERRUPTED, "its daemon ends");
        if (may_exit(manager))
                (void) sd_event_exit(manager->event, 0);
}

bool manager_reserves_ids(const Manager *manager) {
        assert(manager);

        return manager->mode == DAEMON_SYSTEM || geteuid() == 0;
}

Job *manager_job(const Manager *manager, uint64_t id) {
        assert(manager);

        for (guint first = 0, n = manager->jobs->len; n > 0;) {
                guint half = n / 2;
                Job *job = manager->jobs->pdata[first + half];

                if (job->row.id == id)
                        return job;
                if (job->row.id < id)
                        first += half + 1;
                n = job->row.id < id ? n - half - 1 : half;
        }
        return NULL;
}

int manager_add(Manager *manager, Job *job) {
        guint at;

        assert(manager);
        assert(job);

        at = manager->jobs->len;

        /* Nearly always the newest: only an end that was not announced before a restart is older. */
        while (at > 0 && ((const Job *) manager->jobs->pdata[at - 1])->row.id > job->row.id)
                at--;
        g_ptr_array_insert(manager->jobs, (gint) at, job);
        if (job->state == JOB_QUEUED)
                manager->n_queued++;
        else if (job_active(job))
                manager->n_running++;
        return 0;
}

/* An ended job is a row: it leaves the list of objects, and its path stays. */
static void let_ended_go(Manager *manager) {
        for (guint i = manager->jobs->len; i-- > 0;) {
                Job *job = manager->jobs->pdata[i];

                if (job->state != JOB_ENDED || job->unsaved)
                        continue;
                (void) sd_bus_emit_object_removed(manager->bus, job->path);
                (void) g_ptr_array_remove_index(manager->jobs, i);
                ended_keep(manager, job);
        }
}

static int on_schedule(sd_event_source *source, void *userdata) {
        Manager *manager = userdata;

        manager->schedule_source = sd_event_source_disable_unref(manager->schedule_source);
        let_ended_go(manager);
        places_fill(manager);

        (void) sd_notifyf(
                        false, "STATUS=%u jobs run, %u are queued.", manager->n_running, manager->n_queued);
        if (manager->stopping && may_exit(manager))
                return sd_event_exit(manager->event, 0);
        manager_idle_arm(manager);
        return 0;
}

void manager_schedule(Manager *manager) {
        assert(manager);

        if (manager->schedule_source)
                return;
        if (sd_event_add_defer(manager->event, &manager->schedule_source, on_schedule, manager) >= 0)
                (void) sd_event_source_set_description(manager->schedule_source, "schedule");
}

/* What jobs wait for has changed. */
static void say_waiting(Manager *manager) {
        for (guint i = 0; i < manager->jobs->len; i++) {
                Job *job = manager->jobs->pdata[i];

                if (job_active(job))
                        job_changed(job, JOB_CHANGE_STATE);
        }
}

void manager_ledger_blocked(Manager *manager, int error) {
        LogEntry entry;

        assert(manager);
        assert(error < 0);

        if (manager->ledger_blocked) {
                manager_commit_soon(manager);
                return;
        }
        manager->ledger_blocked = -error;
        manager_commit_soon(manager);
        say_waiting(manager);

        log_begin(&entry, MESSAGE_LEDGER_BLOCKED);
        log_field(&entry, "ACTORD_STATE=%s", manager->state_directory);
        log_field(&entry, "ACTORD_REASON=%s", ledger_error_words(error));
        log_send(&entry, LOG_CRIT,
                        "The ledger in %s cannot be written (%s); jobs pause when their spools are full.",
                        manager->state_directory, ledger_error_words(error));
}

static void ledger_recovered(Manager *manager) {
        LogEntry entry;

        manager->ledger_blocked = 0;
        say_waiting(manager);
        log_begin(&entry, MESSAGE_LEDGER_RECOVERED);
        log_send(&entry, LOG_NOTICE, "The ledger can be written again.");
        manager_schedule(manager);

        /* Records wait in the daemon's hands. */
        for (guint i = 0; i < manager->jobs->len; i++) {
                Job *job = manager->jobs->pdata[i];

                if (job_active(job))
                        (void) job_read(job);
        }
}

/* Rows of jobs that are older in the ledger than what happened meanwhile. */
static int save_unsaved(Manager *manager) {
        for (guint i = 0; i < manager->jobs->len; i++) {
                Job *job = manager->jobs->pdata[i];
                int r = job->unsaved ? job_save(job) : 0;

                if (r < 0)
                        return r;
        }
        return 0;
}

int manager_commit(Manager *manager) {
        int r;

        assert(manager);

        r = ledger_commit(manager->ledger);
        if (r < 0) {
                manager_ledger_blocked(manager, r);
                return r;
        }
        for (guint i = 0; i < manager->jobs->len; i++)
                job_committed(manager->jobs->pdata[i]);
        return 0;
}

static int on_commit(sd_event_source *source, uint64_t usec, void *userdata) {
        Manager *manager = userdata;
        int r;

        manager->commit_timer = sd_event_source_disable_unref(manager->commit_timer);
        if (manager_commit(manager) < 0 || !manager->ledger_blocked || save_unsaved(manager) < 0)
                return 0;
        /* Where nothing waited, nothing was written. */
        r = ledger_probe(manager->ledger);
        if (r < 0)
                manager_ledger_blocked(manager, r);
        else
                ledger_recovered(manager);
        return 0;
}

void manager_commit_soon(Manager *manager) {
        uint64_t usec = manager->ledger_blocked ? COMMIT_RETRY_USEC : COMMIT_INTERVAL_USEC;

        assert(manager);

        if (manager->commit_timer)
                return;
        if (sd_event_add_time_relative(manager->event, &manager->commit_timer, CLOCK_BOOTTIME, usec,
                            usec / 10, on_commit, manager) >= 0)
                (void) sd_event_source_set_description(manager->commit_timer, "commit");
}
