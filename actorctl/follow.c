/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Follows a job until it ends. A small event loop listens to the daemon's signals, to the user, and to a
 * clock for the display. A signal of the daemon brings the properties that have changed. All properties are
 * also read once a second, so a lost signal delays the display by a second at most. */
#include "actorctl/follow.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "actorctl/metrics/metrics.h"
#include "actorctl/private.h"
#include "actorctl/run-note.h"
#include "actorctl/signals.h"
#include "actorctl/view/display.h"
#include "actorctl/view/keys.h"
#include "actorctl/view/screen.h"
#include "actorctl/view/why.h"
#include "include/bus.h"
#include "include/sandbox.h"
#include "lib/cleanup.h"
#include "lib/string-tables.h"

#define REFRESH_USEC 100000ull
#define ASK_USEC     1000000ull

typedef struct Follower {
        Connection *connection;
        const char *path;
        FollowInterrupt interrupt;
        Display *display;
        Metrics *metrics;
        JobStatus *status;
        sd_event *event;
        uint64_t asked_usec;
        const char *note_file; /* the job file, for the run's note; NULL: there is no note */
        unsigned n_interrupts;
        const JobSettings *settings; /* for CostAlert=: a private daemon has no journal; NULL: no alerts */
        uint32_t n_alerts;           /* how many amounts of CostAlert= were announced */
        FollowLimits limits;
        bool limits_said, waiting_said, ended;
        bool froze; /* the newest press of f asked to freeze the job, so its wait is not reported */
        ExitStatus result;
} Follower;

/* Ends the loop, but not by sd_event_exit(): that would close the bus connection, which is still needed. */
static void end(Follower *f, ExitStatus result) {
        if (f->ended)
                return;
        f->ended = true;
        f->result = result;
}

void follow_prepare(void) {
        ending_signals_block();
}

static void say_all_limits(char **words) {
        fprintf(stderr, "actorctl: limits that are not enforced:\n");
        for (; *words; words++)
                for (uint32_t i = 0; limit_to_string(i); i++)
                        if (strcmp(limit_to_string(i), *words) == 0)
                                fprintf(stderr, "  %s\n", limit_sentence(i));
}

FollowLimits follow_limits(const Options *options) {
        if (options->quiet)
                return LIMITS_NONE;
        return options->verbose ? LIMITS_ALL : LIMITS_LINE;
}

/* Reports the limits that are not enforced, once. With --quiet it reports only a missing sandbox. */
static void say_limits(Follower *f) {
        if (f->limits_said || !f->status->limits[0])
                return;
        f->limits_said = true;
        if (g_strcmp0(f->status->sandbox_level, "none") == 0)
                complain("THIS JOB HAS NO SANDBOX: its environment can do whatever this user can "
                         "(Sandbox=none)");
        if (f->limits == LIMITS_LINE) {
                g_autofree char *words = g_strjoinv(", ", f->status->limits),
                                *sentence = g_strdup_printf("not enforced here: %s (see --verbose)", words);
                g_autoptr(GString) lines = g_string_new(NULL);

                text_wrap(lines, "actorctl: ", sentence,
                                isatty(STDERR_FILENO) ? terminal_columns(STDERR_FILENO) : G_MAXUINT16);
                fputs(lines->str, stderr);
        } else if (f->limits == LIMITS_ALL)
                say_all_limits(f->status->limits);
}

/* Whether the job waits until its records can be written. A queued job waits for a quota instead, and a
 * frozen job for the user. */
static bool records_wait(const JobStatus *status) {
        return status->waiting[0] && status->frozen_usec == 0 && g_strcmp0(status->state, "queued") != 0;
}

/* Reports each wait once, when it begins. */
static void say_waiting(Follower *f) {
        bool waits = f->status->waiting[0] != '\0';

        if (waits && !f->waiting_said && !f->froze)
                complain(records_wait(f->status) ? "%s; it is tried again each second" : "%s",
                                f->status->waiting);
        f->waiting_said = waits;
}

/* Reports each amount of CostAlert= once, since the daemon of a run does not do that. */
static void say_alerts(Follower *f) {
        const setting_amounts *amounts;

        if (!f->settings)
                return;
        amounts = &f->settings->cost_alert;
        for (; f->n_alerts < amounts->n; f->n_alerts++) {
                double amount = (double) amounts->nano[f->n_alerts] / 1e9;
                char reached[48], cost[48];

                /* NaN: the cost is not known yet. */
                if (!(f->status->cost_full >= amount))
                        break;
                complain("CostAlert=%s is reached: the run has cost %s",
                                format_money(amount, f->status->currency, reached),
                                format_money(f->status->cost_full, f->status->currency, cost));
        }
}

static void show(Follower *f) {
        say_limits(f);
        say_waiting(f);
        say_alerts(f);
        if (f->display)
                display_update(f->display, f->status);
        if (job_has_ended(f->status))
                end(f, STATUS_OK);
}

static int read_changes(JobStatus *status, sd_bus_message *m) {
        int r;

        r = sd_bus_message_skip(m, "s");
        if (r < 0)
                return r;
        return job_status_read(status, m);
}

static int on_properties(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Follower *f = userdata;
        int r;

        r = read_changes(f->status, m);
        if (r < 0)
                complain("a signal of the daemon cannot be read and is ignored: %s", g_strerror(-r));
        show(f);
        return 0;
}

static int on_removed(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Follower *f = userdata;
        uint64_t id;
        const char *path;

        if (sd_bus_message_read(m, "to", &id, &path) >= 0 && strcmp(path, f->path) == 0)
                end(f, STATUS_OK);
        return 0;
}

/* Reports that the private daemon has ended. A run without lasting state has nothing to recover. */
static void complain_private_end(const Connection *connection) {
        g_autofree char *word = run_directory_word(connection->state_directory);
        g_autofree char *fate = private_daemon_fate(connection->pid);

        if (connection->temporary)
                complain("the private daemon %s, and the job with it", fate);
        else
                complain("the private daemon %s, and the job with it; the job's records are in %s, "
                         "and `actorctl recover %s` records its end",
                                fate, connection->state_directory, word);
}

static int on_disconnected(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Follower *f = userdata;

        relay_flush(f->connection->relay);
        if (f->display)
                display_end(f->display, f->status);
        if (f->connection->pid > 0)
                complain_private_end(f->connection);
        else
                complain("the connection to the bus is lost; the job goes on");
        end(f, STATUS_FAILED);
        return 0;
}

static int on_freeze_answer(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        const sd_bus_error *e = sd_bus_message_get_error(m);

        if (e && !sd_bus_error_has_name(e, BUS_ERROR(NotRunning)))
                complain("%s", e->message ? e->message : e->name);
        return 0;
}

static int freeze_job(Follower *f) {
        f->froze = f->status->frozen_usec == 0;
        return sd_bus_call_method_async(f->connection->bus, NULL, f->connection->destination, f->path,
                        BUS_INTERFACE_JOB, f->froze ? "Freeze" : "Thaw", on_freeze_answer, f, NULL);
}

static int on_stop_answer(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        const sd_bus_error *e = sd_bus_message_get_error(m);

        if (e && !sd_bus_error_has_name(e, BUS_ERROR(NotRunning)))
                complain("the job cannot be stopped: %s", e->message ? e->message : e->name);
        return 0;
}

static int stop_job(Follower *f) {
        return sd_bus_call_method_async(f->connection->bus, NULL, f->connection->destination, f->path,
                        BUS_INTERFACE_JOB, "Stop", on_stop_answer, f, NULL);
}

/* What the first Ctrl-C says. */
static const char *stopping_words(const Follower *f) {
        if (f->connection->temporary)
                return "stopping; Ctrl-C again leaves at once";
        if (!records_wait(f->status))
                return "stopping: checkpoint and records are being written; Ctrl-C again leaves at once";
        return f->connection->pid > 0 ? "the job's records could not be written yet; Ctrl-C again leaves, "
                                        "and keeps them in another place"
                                      : "the job's records could not be written yet; Ctrl-C again leaves, "
                                        "and the daemon goes on trying";
}

static int on_interrupt(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata) {
        Follower *f = userdata;

        f->n_interrupts++;
        if (f->interrupt == FOLLOW_LEAVE || f->n_interrupts > 1) {
                end(f, f->connection->pid > 0 && records_wait(f->status) ? STATUS_ENDING
                                                                         : STATUS_INTERRUPTED);
                return 0;
        }
        fprintf(stderr, "\nactorctl: %s\n", stopping_words(f));
        return stop_job(f);
}

/* Handles keys. The key q leaves a job that can go on without this program, and stops one that cannot. */
static int on_key(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        Follower *f = userdata;
        char key;

        /* EIO: another program has the terminal now. */
        if (read(fd, &key, 1) != 1)
                return sd_event_source_set_enabled(source, SD_EVENT_OFF);
        if (key == 'q' && f->interrupt == FOLLOW_LEAVE)
                end(f, STATUS_OK);
        if (key == 'f')
                return freeze_job(f);
        if (key == 's' && f->interrupt == FOLLOW_LEAVE)
                return stop_job(f);
        if ((key == 's' || key == 'q') && f->interrupt == FOLLOW_STOP && f->n_interrupts == 0)
                return on_interrupt(NULL, NULL, f);
        return 0;
}

static int on_all(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Follower *f = userdata;

        /* An error is ignored: a daemon that is being restarted will answer the next time. */
        if (!sd_bus_message_is_method_error(m, NULL) && job_status_read(f->status, m) >= 0)
                show(f);
        return 0;
}

static int ask(Follower *f) {
        return sd_bus_call_method_async(f->connection->bus, NULL, f->connection->destination, f->path,
                        "org.freedesktop.DBus.Properties", "GetAll", on_all, f, "s", BUS_INTERFACE_JOB);
}

static void note(const Follower *f) {
        if (f->note_file && f->status->id > 0)
                run_note_write(f->connection->state_directory, f->note_file, f->status);
}

static int on_tick(sd_event_source *source, uint64_t usec, void *userdata) {
        Follower *f = userdata;
        int r;

        if (f->display)
                display_update(f->display, f->status);
        if (usec - f->asked_usec >= ASK_USEC) {
                f->asked_usec = usec;
                note(f);
                metrics_update(f->metrics, f->connection, f->path, f->status);
                r = ask(f);
                if (r < 0)
                        return r;
        }
        r = sd_event_source_set_time(source, usec + REFRESH_USEC);
        return r < 0 ? r : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int add_matches(Follower *f) {
        sd_bus *bus = f->connection->bus;
        int r;

        r = sd_bus_match_signal(bus, NULL, f->connection->destination, f->path,
                        "org.freedesktop.DBus.Properties", "PropertiesChanged", on_properties, f);
        if (r < 0)
                return r;
        r = sd_bus_match_signal(bus, NULL, f->connection->destination, BUS_PATH, BUS_INTERFACE_MANAGER,
                        "JobRemoved", on_removed, f);
        if (r < 0)
                return r;
        return sd_bus_match_signal(bus, NULL, NULL, "/org/freedesktop/DBus/Local",
                        "org.freedesktop.DBus.Local", "Disconnected", on_disconnected, f);
}

/* Listens to the keys of a live display. Without one there are no keys, and Ctrl-C is enough. */
static int add_keys(Follower *f) {
        int fd;

        if (!f->display)
                return 0;
        if (!display_is_live(f->display)) {
                keys_hush();
                return 0;
        }
        fd = keys_open();
        if (fd < 0)
                return 0;
        display_tell_keys(f->display,
                        f->interrupt == FOLLOW_LEAVE
                                        ? "keys: s stops the job, f freezes or thaws it, q leaves it"
                                        : "keys: s stops the run, f freezes or thaws it");
        return sd_event_add_io(f->event, NULL, fd, EPOLLIN, on_key, f);
}

static int add_sources(Follower *f) {
        uint64_t now;
        int r;

        for (size_t i = 0; i < N_ENDING_SIGNALS; i++) {
                r = sd_event_add_signal(f->event, NULL, ending_signals[i], on_interrupt, f);
                if (r < 0)
                        return r;
        }
        r = add_keys(f);
        if (r < 0)
                return r;
        r = sd_event_now(f->event, CLOCK_MONOTONIC, &now);
        if (r < 0)
                return r;
        f->asked_usec = now;
        return sd_event_add_time(f->event, NULL, CLOCK_MONOTONIC, now + REFRESH_USEC, 0, on_tick, f);
}

static int run_until_ended(Follower *f) {
        int r;

        r = sd_bus_attach_event(f->connection->bus, f->event, SD_EVENT_PRIORITY_NORMAL);
        if (r < 0)
                return r;
        r = add_matches(f);
        if (r < 0)
                return r;
        r = add_sources(f);
        if (r < 0)
                return r;
        r = ask(f);
        if (r < 0)
                return r;
        while (!f->ended) {
                r = sd_event_run(f->event, UINT64_MAX);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int follow(Follower *f) {
        int r;

        r = sd_event_new(&f->event);
        if (r < 0)
                return r;
        r = run_until_ended(f);
        keys_close();
        (void) sd_bus_detach_event(f->connection->bus);
        f->event = sd_event_unref(f->event);
        return r;
}

int follow_keep_rest(Connection *connection, char **ret_rest) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const char *rest = "", *directory = connection->state_directory;
        int r;

        r = connection_call(connection, BUS_PATH, BUS_INTERFACE_MANAGER, "KeepRest", &reply, NULL);
        if (r < 0)
                return r;
        r = sd_bus_message_read(reply, "s", &rest);
        if (r < 0) {
                complain("the answer of KeepRest() cannot be read: %s", g_strerror(-r));
                return r;
        }
        if (*rest)
                complain("the ledger in %s is not complete: the missing records are in %s, and `actorctl "
                         "recover %s` adds them",
                                directory, rest, directory);
        *ret_rest = g_strdup(rest);
        return 0;
}

/* Leaves a temporary run, whose records are removed with it. */
static void drop_records(Follower *f) {
        g_autofree char *rest = NULL;

        if (follow_keep_rest(f->connection, &rest) >= 0)
                (void) job_status_fetch(f->status, f->connection, f->path);
        f->result = STATUS_INTERRUPTED;
}

static ExitStatus follow_to_end(Follower *f) {
        int r;

        follow_prepare();
        r = follow(f);
        relay_flush(f->connection->relay);
        if (r < 0) {
                complain("the job cannot be followed: %s", g_strerror(-r));
                return STATUS_FAILED;
        }
        if (f->result == STATUS_ENDING && f->connection->temporary)
                drop_records(f);
        if (f->result == STATUS_OK && job_status_fetch(f->status, f->connection, f->path) < 0)
                f->result = STATUS_FAILED;
        if (f->result == STATUS_OK && job_has_ended(f->status))
                metrics_finish(f->metrics, f->connection, f->path, f->status);
        else if (f->result == STATUS_OK)
                metrics_update(f->metrics, f->connection, f->path, f->status);
        note(f);
        say_limits(f);
        if (f->result == STATUS_OK)
                say_alerts(f);
        if (f->display)
                display_end(f->display, f->status);
        return f->result;
}

ExitStatus job_follow(Connection *connection, const char *path, FollowInterrupt interrupt,
                FollowLimits limits, Display *display, Metrics *metrics, JobStatus *status) {
        Follower f = {
                .connection = connection,
                .path = path,
                .interrupt = interrupt,
                .limits = limits,
                .display = display,
                .metrics = metrics,
                .status = status,
        };

        return follow_to_end(&f);
}

ExitStatus job_file_follow(Connection *connection, const Options *options, const JobFile *job_file,
                Metrics *metrics, char **ret_path, JobStatus *status) {
        g_autoptr(Display) display = NULL;
        g_autofree char *note_file =
                        connection->numbered ? g_canonicalize_filename(job_file->file_name, NULL) : NULL;
        Follower f = {
                .connection = connection,
                .interrupt = FOLLOW_STOP,
                .limits = options ? follow_limits(options) : LIMITS_NONE,
                .note_file = note_file,
                .settings = options ? &job_file->settings : NULL,
                .status = status,
        };
        ExitStatus result;
        uint64_t id;

        result = job_file_send(job_file, connection, &id, ret_path);
        if (result != STATUS_OK)
                return result;
        if (options && !options->quiet)
                display = display_new(stderr, false, connection, *ret_path);
        if (display)
                display_count_runs(display, job_file->n_runs);
        if (display && connection->numbered) {
                g_autofree char *word = run_directory_word(connection->state_directory),
                                *called = g_strdup_printf("run %s", word);

                display_call(display, called);
        } else if (display && connection->pid > 0)
                display_call(display, "this run");
        f.path = *ret_path;
        f.display = display;
        f.metrics = metrics;
        return follow_to_end(&f);
}
