/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How the daemon begins and ends. It opens its directories and the ledger, makes a Job of each row that has
 * not ended, connects to the jobs that run, and serves the bus. */
#include "daemon/manager.h"

#include <assert.h>
#include <dirent.h>
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
#include "daemon/commit.h"
#include "daemon/copies.h"
#include "daemon/descriptors.h"
#include "daemon/ended.h"
#include "daemon/files.h"
#include "daemon/fold.h"
#include "daemon/job-end.h"
#include "daemon/job-life.h"
#include "daemon/job.h"
#include "daemon/line.h"
#include "daemon/long-call.h"
#include "daemon/older.h"
#include "daemon/places.h"
#include "daemon/removals.h"
#include "daemon/rest.h"
#include "daemon/trim.h"
#include "daemon/turns.h"
#include "daemon/users.h"
#include "daemon/verify.h"
#include "include/launch.h"
#include "include/plan.h"
#include "lib/boottime.h"
#include "lib/bus-client.h"
#include "lib/cleanup.h"
#include "lib/limits.h"
#include "lib/string-tables.h"
#include "lib/width.h"

#define INSPECT_WAIT_NSEC  UINT64_C(20000000000) /* 20 s, shorter than the deadline of a D-Bus call */
#define START_WAIT_NSEC    UINT64_C(2000000000)
#define BUSY_PAUSE_USEC    20000
#define CHECK_USEC         UINT64_C(60000000)
#define CHECK_USEC_PER_MIB UINT64_C(1000000)

DEFINE_CLEANUP(Manager *, manager_free)

static const char *first_of_path(const char *name) {
        /* systemd may set several paths, with colons; actord's units ask for one directory only. */
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

/* Whether a systemd manager answers. It is asked once, at the start, with its own deadline. */
static bool manager_answers(bool system) {
        sd_bus *bus = NULL;
        bool answers = false;

        if (sd_booted() <= 0)
                return false;
        if (bus_client_open(system, &bus) >= 0) {
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

        config_init(&manager->context.config);
        if (manager->context.mode == DAEMON_SYSTEM)
                r = config_read(&manager->context.config, "/etc/actord", &message);
        else if (manager->context.mode == DAEMON_USER) {
                directory = g_build_filename(g_get_user_config_dir(), "actord", NULL);
                r = config_read(&manager->context.config, directory, &message);
        }
        if (r < 0) {
                log_line(LOG_ERR, "%s", message);
                return r;
        }
        if (manager->context.config.max_jobs == 0)
                manager->context.config.max_jobs = n_cpus > 0 ? (uint32_t) n_cpus : 1;
        return 0;
}

static int open_directories(Manager *manager) {
        const char *const paths[] = { manager->context.state_directory, manager->runtime_directory };
        int *const fds[] = { &manager->context.jobs_fd, &manager->context.sockets_fd };

        for (size_t i = 0; i < 2; i++) {
                /* Missing parents are made, too. A directory that systemd made has the right mode
                 * already. */
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
        log_field(&entry, "ACTORD_STATE=%s", manager->context.state_directory);
        log_send(&entry, LOG_ERR, "Another actord has the ledger in %s; this one ends.",
                        manager->context.state_directory);
        return -EBUSY;
}

/* Tells systemd how long the check of the ledger may take: systemd ends a start that exceeds the unit's
 * limit. Even a slow disk reads a MiB in a second. */
static void say_checking(uint64_t bytes) {
        (void) sd_notifyf(false,
                        "EXTEND_TIMEOUT_USEC=%" PRIu64 "\nSTATUS=Reading the whole ledger (%" PRIu64
                        " MiB), since its last daemon did not end in order.",
                        CHECK_USEC + (bytes >> 20) * CHECK_USEC_PER_MIB, bytes >> 20);
}

/* Opens the ledger, and waits while another process has it for a moment. If the last daemon was killed, a
 * child that it had just forked still has it. `actorctl recover` may have the ledger of a run that is to be
 * shown. */
static int open_when_free(Manager *manager, const char *path) {
        uint64_t until = clock_boottime() + (manager->inspects ? INSPECT_WAIT_NSEC : START_WAIT_NSEC);
        Ledger **ret = &manager->context.ledger;
        int r;

        for (;;) {
                r = manager->inspects ? ledger_open_to_read(path, say_checking, ret)
                                      : ledger_open_checked(path, say_checking, ret);
                if (r != -EBUSY || clock_boottime() >= until)
                        return r;
                g_usleep(BUSY_PAUSE_USEC);
        }
}

static int open_ledger(Manager *manager) {
        g_autofree char *path = g_build_filename(manager->context.state_directory, "ledger.sqlite", NULL);
        int r;

        r = limits_check_file_size();
        if (r < 0) {
                log_line(LOG_ERR, "Files cannot grow large enough here for a job's records: %s%s.",
                                g_strerror(-r), limit_advice(r));
                return r;
        }
        r = open_when_free(manager, path);
        if (r == -EBUSY)
                return say_second(manager);
        if (r == -EUCLEAN)
                log_line(LOG_ERR,
                                "%s is damaged, is not a ledger, or was written by a newer actord. Install "
                                "that newer version, restore a backup, or move the file away (`sqlite3 FILE "
                                ".recover` reads what is left of a damaged one).",
                                path);
        else if (r < 0)
                log_line(LOG_ERR, "The ledger %s cannot be opened: %s%s.", path, ledger_error_words(r),
                                limit_advice(r));
        if (r >= 0 && ledger_is_full(manager->context.ledger))
                commit_failed(&manager->context, -ENOSPC);
        return r;
}

static int on_sigchld(sd_event_source *source, const struct signalfd_siginfo *si, void *userdata) {
        /* Reaps spawners, helpers and, in run mode, processes of a job that have lost their parent. The
         * daemon learns of ends by pidfds and sockets, not here. */
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
        r = sd_event_add_signal(
                        manager->context.event, &manager->sigchld_source, SIGCHLD, on_sigchld, manager);
        if (r < 0)
                return r;
        r = sd_event_add_signal(
                        manager->context.event, &manager->sigterm_source, SIGTERM, on_terminate, manager);
        if (r < 0)
                return r;
        return sd_event_add_signal(
                        manager->context.event, &manager->sigint_source, SIGINT, on_terminate, manager);
}

int manager_new(DaemonMode mode, const char *state_directory, int run_fd, Manager **ret) {
        _cleanup_(manager_freep) Manager *manager = NULL;
        int r;

        assert(ret);

        manager = g_new0(Manager, 1);
        manager->context.mode = mode;
        manager->context.jobs_fd = manager->context.sockets_fd = -EBADF;
        manager->context.jobs.all = g_ptr_array_new();
        manager->context.state_directory = state_directory ? g_strdup(state_directory) : default_state(mode);
        manager->runtime_directory = default_runtime(mode, manager->context.state_directory);
        copies_init(manager);
        manager->lines = lines_new(manager);
        access_init(&manager->access, &manager->context, manager->lines);
        manager->context.access = &manager->access;

        r = sd_event_default(&manager->context.event);
        if (r < 0)
                return r;
        manager->context.verifier = verifier_new(manager->context.event, VERIFY_TIMEOUT_USEC);
        r = read_config(manager);
        if (r < 0)
                return r;
        manager->context.users = users_new(&manager->context);
        r = manager_work_start(manager);
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

        (void) sd_event_source_disable_unref(manager->context.commit_timer);
        (void) sd_event_source_disable_unref(manager->context.jobs.work_source);
        (void) sd_event_source_disable_unref(manager->places_timer);
        (void) sd_event_source_disable_unref(manager->idle_timer);
        (void) sd_event_source_disable_unref(manager->name_timer);
        (void) sd_event_source_disable_unref(manager->trade_timer);
        (void) sd_event_source_disable_unref(manager->sigchld_source);
        (void) sd_event_source_disable_unref(manager->sigterm_source);
        (void) sd_event_source_disable_unref(manager->sigint_source);
        (void) sd_event_source_disable_unref(manager->stop_timer);
        long_calls_done(&manager->context);
        removals_done(manager);
        trim_done(manager);
        older_done(manager);
        fold_done(manager);
        access_done(&manager->access);
        g_hash_table_unref(manager->copies);
        manager->lines = lines_free(manager->lines);
        manager->turns = turns_free(manager->turns);
        manager->context.users = users_free(manager->context.users);
        JOBS_FOREACH (job, &manager->context.jobs)
                (void) job_free(job);
        ended_done(manager);
        g_ptr_array_unref(manager->context.jobs.all);
        manager->context.verifier = verifier_free(manager->context.verifier);
        manager->context.ledger = ledger_close(manager->context.ledger);
        manager->context.bus = sd_bus_flush_close_unref(manager->context.bus);
        (void) close_fd(manager->context.jobs_fd);
        (void) close_fd(manager->context.sockets_fd);
        g_free(manager->context.state_directory);
        g_free(manager->runtime_directory);
        manager->context.event = sd_event_unref(manager->context.event);
        g_free(manager);
        return NULL;
}

/* Makes a Job of the row of a job that has not ended. If the text of the row cannot be parsed any more (an
 * older version wrote it), the journal names the job, and the job is marked as failed. Any other error, also
 * one of the ledger when the job is marked, says nothing about the job, which stays as it is. */
static int load_job(Manager *manager, uint64_t id) {
        LedgerJob row = {};
        Job *job;
        int r;

        r = ledger_job_get(manager->context.ledger, id, &row);
        if (r < 0)
                return r;
        r = job_new(&manager->context, &row, &job);
        if (r >= 0)
                jobs_add(&manager->context.jobs, job);
        else if (r != -ENOMEM)
                r = job_row_end(&manager->context, &row);
        ledger_job_done(&row);
        return r;
}

int manager_load_jobs(Manager *manager) {
        g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(uint64_t));
        int r;

        assert(manager);

        r = ledger_jobs_live(manager->context.ledger, ids);
        for (guint i = 0; r >= 0 && i < ids->len; i++)
                r = load_job(manager, g_array_index(ids, uint64_t, i));
        if (r < 0)
                log_line(LOG_ERR, "The ledger's jobs cannot be loaded: %s%s.", ledger_error_words(r),
                                limit_advice(r));
        return r;
}

/* A job's row says `ended` as soon as its last record is committed. After that, the daemon acknowledges the
 * record, removes the files of the life, and announces the end. If the daemon was killed before it had done
 * so, this function does it now. The life's .launch file then still exists, since it is removed last. */
static void take_up_end(Manager *manager, uint64_t id) {
        LedgerJob row = {};
        Job *job;

        if (jobs_find(&manager->context.jobs, id) || ledger_job_get(manager->context.ledger, id, &row) < 0)
                return;
        if (g_strcmp0(row.state, "ended") == 0 && job_new(&manager->context, &row, &job) >= 0) {
                job_take_up_end(job);
                jobs_add(&manager->context.jobs, job);
        }
        ledger_job_done(&row);
}

static void take_up_ends(Manager *manager) {
        _cleanup_close_ int fd =
                        openat(manager->context.sockets_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_closedir_ DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
        struct dirent *entry;

        if (!directory)
                return;
        (void) TAKE_FD(fd);
        while ((entry = readdir(directory))) {
                char *rest;
                guint64 id = g_ascii_strtoull(entry->d_name, &rest, 10);

                if (id > 0 && strcmp(rest, ".launch") == 0)
                        take_up_end(manager, id);
        }
}

static void say_ready(const Manager *manager) {
        unsigned n = manager->context.jobs.n_queued + manager->context.jobs.n_running;
        LogEntry entry;

        log_begin(&entry, MESSAGE_DAEMON_READY);
        log_field(&entry, "ACTORD_JOBS=%u", n);
        log_field(&entry, "ACTORD_MODE=%s", daemon_mode_to_string(manager->context.mode));
        log_field(&entry, "ACTORD_STATE=%s", manager->context.state_directory);
        log_send(&entry, LOG_INFO, "actord %s is ready (%s mode); %u job%s not ended.", ACTORD_VERSION,
                        daemon_mode_to_string(manager->context.mode), n, n == 1 ? " has" : "s have");
}

/* Logs that kernels are plain C, on a CPU without AVX2 and FMA. */
static void say_width(void) {
        if (width_of_class(KERNEL_CLASS_AUTO) == WIDTH_SCALAR)
                log_line(LOG_NOTICE,
                                "This CPU lacks AVX2 or FMA: kernels in plain C make the same policies, "
                                "but take several times as long.");
}

static int take_up_jobs(Manager *manager) {
        JOBS_FOREACH (job, &manager->context.jobs) {
                int r = 0;

                if (job_active(job))
                        r = job_adopt(job);
                else if (job->state == JOB_QUEUED && job->row.end_wanted != PLAN_END_NOT) {
                        r = job_prepare_end(job);
                        if (r >= 0)
                                job_end_queued(job, job->row.end_wanted, NULL);
                }
                if (r < 0)
                        return r;
        }
        return 0;
}

int manager_start(Manager *manager) {
        int r;

        assert(manager);

        r = open_ledger(manager);
        if (r < 0)
                return r;
        /* Does not load jobs that have not ended, so none of them gets another life. */
        if (manager->inspects)
                return manager_bus_start(manager);
        manager->context.launch_manager = find_launch_manager(manager->context.mode);
        removals_start(manager);
        r = manager_load_jobs(manager);
        if (r < 0)
                return r;
        fold_start(manager);
        older_start(manager);
        trim_start(manager);
        take_up_ends(manager);
        directories_take(&manager->context);
        r = manager_bus_start(manager);
        if (r < 0)
                return r;

        r = take_up_jobs(manager);
        if (r < 0)
                return r;
        jobs_schedule(&manager->context.jobs);
        say_ready(manager);
        say_width();
        return 0;
}
