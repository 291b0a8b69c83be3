/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs the missing cells as jobs of one daemon, as many at once as the CPUs or --jobs= allow. A job's result
 * is on disk before the next job takes its place, so an interruption loses at most the running jobs. A D-Bus
 * signal of the daemon only wakes this program, which then asks for the state of the job. It also asks once
 * a second without a signal, so a lost signal costs a second. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "actorctl/experiment/sweep.h"
#include "actorctl/follow.h"
#include "actorctl/job-rounds.h"
#include "actorctl/job-status.h"
#include "actorctl/view/screen.h"
#include "actorctl/view/streams.h"
#include "include/bus.h"
#include "lib/cleanup.h"

#define TICK_USEC  1000000ull
#define LINE_TICKS 10u

typedef struct Run {
        Cell *cell;
        char *path;
        bool ended;
} Run;

typedef struct Runner {
        const Options *options;
        const Experiment *experiment;
        GPtrArray *cells;
        const char *directory;
        Connection *connection;
        sd_event *event;
        GPtrArray *runs;                        /* Runs: the jobs that run now */
        uint64_t n_jobs, n_ended, started_usec; /* n_ended: cells that this program has seen end */
        guint next;                             /* the next cell to begin, as an index of `cells` */
        unsigned n_interrupts, n_ticks;
        bool quiet, live, lost;
} Runner;

static void run_free(gpointer data) {
        Run *run = data;

        g_free(run->path);
        g_free(run);
}

/* neither the time that has passed nor an estimate needs fractions of a second */
static char *format_seconds(uint64_t usec, char ret[32]) {
        uint64_t s = usec / 1000000;

        if (s >= 60)
                return format_duration(usec * 1000, ret);
        g_snprintf(ret, 32, "%" G_GUINT64_FORMAT " s", s);
        return ret;
}

static guint n_in_state(const Runner *r, CellState state) {
        guint n = 0;

        for (guint i = 0; i < r->cells->len; i++)
                n += ((const Cell *) r->cells->pdata[i])->state == state;
        return n;
}

static void print_progress(Runner *r, bool last) {
        guint n_done, n_failed, n_all;
        uint64_t n_left, usec = 0;
        char spent[32], left[32];

        if (r->quiet || (!r->live && !last && r->n_ticks % LINE_TICKS != 0))
                return;
        n_done = n_in_state(r, CELL_DONE);
        n_failed = n_in_state(r, CELL_FAILED);
        n_all = r->cells->len - n_in_state(r, CELL_UNPAID);
        n_left = n_all - n_done - n_failed;
        (void) sd_event_now(r->event, CLOCK_MONOTONIC, &usec);
        usec -= MIN(usec, r->started_usec);
        if (r->live)
                stream_write_raw(stderr, "\r\033[K");
        if (r->experiment->sweep && r->experiment->sweep->n_rungs > 1)
                fprintf(stderr, "rung %zu of %zu: ",
                                ((const Cell *) r->cells->pdata[r->cells->len - 1])->levels[0] + 1,
                                r->experiment->sweep->n_rungs);
        fprintf(stderr, "%u of %u cells done, %u failed, %u running; %s", n_done, n_all, n_failed,
                        r->runs->len, format_seconds(usec, spent));
        if (r->n_ended > 0 && n_left > 0 && !last)
                fprintf(stderr, ", about %s left", format_seconds(usec / r->n_ended * n_left, left));
        if (!r->live || last)
                fputc('\n', stderr);
        (void) fflush(stderr);
}

/* Clears the live line, so that the next message begins on a new line below the jobs' output. */
static void clear_line(const Runner *r) {
        relay_flush(r->connection->relay);
        if (r->live)
                stream_write_raw(stderr, "\r\033[K");
}

static void fail_cell(Runner *r, Cell *cell, const char *fault) {
        clear_line(r);
        complain("cell %s failed: %s", cell->name, fault);
        cell->state = CELL_FAILED;
        cell->fault = g_strdup(fault);
        r->n_ended++;
}

/* Whether the series has all rounds of the job: of a longer job the daemon sends only some rounds. */
static bool is_whole(const Series *series) {
        const double *rounds = series_column(series, "round");

        return rounds && series->n_rounds > 0 && rounds[series->n_rounds - 1] == (double) series->n_rounds;
}

static int fetch_series(Connection *connection, const char *path, Series *ret) {
        JobRounds rounds;
        int r;

        r = job_rounds_fetch(connection, path, 0, JOB_ROUNDS_MOST, &rounds);
        if (r < 0)
                return r;
        ret->n_rounds = rounds.n;
        for (size_t i = 0; i < rounds.n_columns; i++) {
                double *column = series_add(ret, rounds.names[i]);

                for (size_t k = 0; k < rounds.n; k++)
                        column[k] = rounds.values[k * rounds.n_columns + i];
        }
        job_rounds_done(&rounds);
        return 0;
}

/* Fetches the bill of a job by each sheet of Prices=; NULL without Prices=. 0; or a negative errno, with a
 * message. */
static int fetch_bills(const Runner *r, const char *path, JsonNode **ret) {
        g_autoptr(JsonObject) object = json_object_new();
        GStrv prices = r->experiment->prices;

        for (char **sheet = prices; sheet && *sheet; sheet++) {
                g_autoptr(JobBill) bill = NULL;
                int k;

                k = job_bill_fetch(r->connection, path, *sheet, &bill);
                if (k < 0)
                        return k;
                json_object_set_member(object, *sheet, job_bill_to_json(bill));
        }
        *ret = prices ? json_node_init_object(json_node_alloc(), object) : NULL;
        return 0;
}

/* Reads the results of a job that has ended. 0; or a negative errno, with a message. */
static int fetch_outcome(const Runner *r, const Run *run, const JobStatus *status, Outcome **ret) {
        g_autoptr(Outcome) outcome = g_new0(Outcome, 1);
        g_autoptr(JobBill) bill = NULL;
        int k;

        k = job_bill_fetch(r->connection, run->path, NULL, &bill);
        if (k < 0)
                return k;
        k = fetch_bills(r, run->path, &outcome->bills);
        if (k < 0)
                return k;
        k = fetch_series(r->connection, run->path, &outcome->series);
        if (k < 0)
                return k;
        series_complete(&outcome->series);
        outcome->result = job_result_to_json(status, bill, NULL);
        *ret = g_steal_pointer(&outcome);
        return 0;
}

/* Keeps the result of a failed trial. A sweep ranks all of its trials, the failed ones included. When an
 * interrupted sweep continues, the decisions that follow from the ranks must not change. */
static int keep_failure(Runner *r, const Run *run, const JobStatus *status, const char *fault) {
        Cell *cell = run->cell;
        int k;

        fail_cell(r, cell, fault);
        if (!r->experiment->sweep)
                return 0;
        k = fetch_outcome(r, run, status, &cell->outcome);
        if (k < 0)
                return k;
        cell->cost = outcome_full(cell->outcome);
        k = outcome_write(r->experiment, cell, r->directory);
        cell->outcome = outcome_free(cell->outcome);
        return k;
}

static int finish_run(Runner *r, const Run *run, const JobStatus *status) {
        int k;

        if (strcmp(status->result, "interrupted") == 0 && r->n_interrupts > 0) {
                run->cell->state = CELL_MISSING;
                return 0;
        }
        if (strcmp(status->result, "interrupted") == 0) {
                fail_cell(r, run->cell, "its job was stopped");
                return 0;
        }
        if (strcmp(status->result, "failed") == 0)
                return keep_failure(r, run, status, status->fault[0] ? status->fault : "its job failed");
        if (run->cell->cap_nano > 0 && strcmp(status->result, "budget-exhausted") == 0)
                return keep_failure(r, run, status,
                                "it has used up the money that Budget= of [Sweep] left for it");
        k = fetch_outcome(r, run, status, &run->cell->outcome);
        if (k >= 0)
                k = outcome_write(r->experiment, run->cell, r->directory);
        if (k < 0)
                return k;
        run->cell->state = CELL_DONE;
        r->n_ended++;
        return 0;
}

/* Keeps the results of jobs that have ended. ask: also asks the daemon about the jobs that have sent no
 * signal of their end. */
static int harvest(Runner *r, bool ask) {
        for (guint i = r->runs->len; i-- > 0;) {
                Run *run = r->runs->pdata[i];
                _cleanup_(job_status_done) JobStatus status = job_status_empty();
                int k;

                if (!run->ended && !ask)
                        continue;
                k = job_status_fetch(&status, r->connection, run->path);
                if (k < 0)
                        return k;
                if (!job_has_ended(&status))
                        continue;
                k = finish_run(r, run, &status);
                (void) g_ptr_array_remove_index(r->runs, i);
                if (k < 0)
                        return k;
        }
        return 0;
}

/* A finished cell's numbers of actors, round by round, for another cell that repeats its decisions. */
static GArray *decisions_of(const Cell *cell) {
        GArray *counts = g_array_new(FALSE, FALSE, sizeof(uint32_t));
        const double *actors = series_column(&cell->outcome->series, "actors");

        for (size_t i = 0; actors && i < cell->outcome->series.n_rounds; i++) {
                /* The cell's file may have been edited: a number out of range becomes 0, which is
                 * refused. */
                uint32_t n = actors[i] >= 1 && actors[i] <= ACTORS_MAX ? (uint32_t) actors[i] : 0;

                g_array_append_val(counts, n);
        }
        return counts;
}

static void start_cell(Runner *r, Cell *cell) {
        g_autoptr(GPtrArray) sets = cell_sets(r->experiment, cell);
        g_autofree char *path = NULL;
        JobFile job_file;
        ExitStatus status;
        uint64_t id;
        CellSource source = cell_source(r->experiment, cell);
        Run *run;

        /* the description is shown by `actorctl list` */
        g_ptr_array_add(sets, g_strconcat("Job.Description=", cell->name, NULL));
        if (cell->cap_nano > 0)
                g_ptr_array_add(sets,
                                g_strdup_printf("Job.Budget=%" G_GUINT64_FORMAT ".%09" G_GUINT64_FORMAT,
                                                cell->cap_nano / 1000000000u, cell->cap_nano % 1000000000u));
        status = job_file_load_from(
                        &job_file, r->experiment->job_file, r->experiment->job_text, sets, &source.source);
        if (cell->after)
                job_file.scheduler_data = decisions_of(cell->after);
        else if (status == STATUS_OK)
                status = job_file_add_data(&job_file, r->options);
        if (status == STATUS_OK)
                status = job_file_send(&job_file, r->connection, &id, &path);
        job_file_done(&job_file);
        if (status == STATUS_FAILED) {
                /* The daemon failed, not this cell. The next cell would fail too, so the experiment ends. */
                r->lost = true;
                return;
        }
        if (status != STATUS_OK) {
                fail_cell(r, cell, "the daemon did not accept its job");
                return;
        }
        run = g_new(Run, 1);
        *run = (Run){ .cell = cell, .path = g_steal_pointer(&path) };
        g_ptr_array_add(r->runs, run);
        cell->state = CELL_RUNNING;
}

static bool has_begun(const Cell *cell) {
        return cell->state != CELL_MISSING && cell->state != CELL_WAITING;
}

/* The first cell that can start now; NULL: there is none. Fails cells whose decisions to repeat will never
 * come. */
static Cell *next_cell(Runner *r) {
        while (r->next < r->cells->len && has_begun(r->cells->pdata[r->next]))
                r->next++;
        for (guint i = r->next; i < r->cells->len; i++) {
                Cell *cell = r->cells->pdata[i];

                if (cell->state != CELL_MISSING)
                        continue;
                if (cell->after && cell->after->state == CELL_DONE &&
                                !is_whole(&cell->after->outcome->series))
                        fail_cell(r, cell,
                                        "the cell whose decisions it repeats has more rounds than a job can "
                                        "repeat");
                else if (!cell->after || cell->after->state == CELL_DONE)
                        return cell;
                else if (cell->after->state == CELL_FAILED)
                        fail_cell(r, cell, "the cell whose decisions it repeats failed");
        }
        return NULL;
}

static bool has_room(const Runner *r, const Cell *cell) {
        uint64_t n_busy = 0;

        if (r->n_jobs > 0)
                return r->runs->len < r->n_jobs;
        for (guint i = 0; i < r->runs->len; i++)
                n_busy += ((const Run *) r->runs->pdata[i])->cell->n_cpus;
        return cell_fits(cell, n_busy, g_get_num_processors());
}

/* Of the cells that can start, the first is next, so that small ones never overtake a cell that needs many
 * CPUs. */
static void start_cells(Runner *r) {
        Cell *cell;

        while (r->n_interrupts == 0 && !r->lost && (cell = next_cell(r)) && has_room(r, cell))
                start_cell(r, cell);
}

static int on_removed(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Runner *r = userdata;
        const char *path;
        uint64_t id;

        if (sd_bus_message_read(m, "to", &id, &path) < 0)
                return 0;
        for (guint i = 0; i < r->runs->len; i++) {
                Run *run = r->runs->pdata[i];

                run->ended = run->ended || strcmp(run->path, path) == 0;
        }
        return 0;
}

static int on_disconnected(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Runner *r = userdata;

        clear_line(r);
        complain("the daemon is gone; finished cells are kept");
        r->lost = true;
        return 0;
}

/* Stops the running jobs, whose results are not needed any more. */
static void stop_runs(const Runner *r) {
        for (guint i = 0; i < r->runs->len; i++)
                (void) sd_bus_call_method_async(r->connection->bus, NULL, r->connection->destination,
                                ((Run *) r->runs->pdata[i])->path, BUS_INTERFACE_JOB, "Stop", NULL, NULL,
                                NULL);
}

static int on_interrupt(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata) {
        Runner *r = userdata;

        if (++r->n_interrupts > 1) {
                r->lost = true;
                return 0;
        }
        clear_line(r);
        fprintf(stderr, "actorctl: stopping; run the same command again to go on; Ctrl-C again leaves at "
                        "once\n");
        stop_runs(r);
        return 0;
}

static int on_tick(sd_event_source *source, uint64_t usec, void *userdata) {
        Runner *r = userdata;
        int k;

        r->n_ticks++;
        k = sd_event_source_set_time(source, usec + TICK_USEC);
        return k < 0 ? k : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int add_sources(Runner *r) {
        static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
        int k;

        k = sd_bus_attach_event(r->connection->bus, r->event, SD_EVENT_PRIORITY_NORMAL);
        if (k >= 0)
                k = sd_bus_match_signal(r->connection->bus, NULL, r->connection->destination, BUS_PATH,
                                BUS_INTERFACE_MANAGER, "JobRemoved", on_removed, r);
        if (k >= 0)
                k = sd_bus_match_signal(r->connection->bus, NULL, NULL, "/org/freedesktop/DBus/Local",
                                "org.freedesktop.DBus.Local", "Disconnected", on_disconnected, r);
        for (size_t i = 0; k >= 0 && i < ELEMENTSOF(signals); i++)
                k = sd_event_add_signal(r->event, NULL, signals[i], on_interrupt, r);
        if (k >= 0)
                k = sd_event_now(r->event, CLOCK_MONOTONIC, &r->started_usec);
        if (k >= 0)
                k = sd_event_add_time(
                                r->event, NULL, CLOCK_MONOTONIC, r->started_usec + TICK_USEC, 0, on_tick, r);
        return k;
}

static int loop(Runner *r) {
        unsigned ticks = 0;
        int k;

        for (;;) {
                k = harvest(r, r->n_ticks != ticks);
                if (k >= 0 && r->experiment->sweep)
                        k = sweep_settle(r->experiment, r->cells, r->directory);
                if (k < 0)
                        return k;
                start_cells(r);
                if (r->n_ticks != ticks || r->live)
                        print_progress(r, false);
                ticks = r->n_ticks;
                if (r->runs->len == 0 || r->lost)
                        return 0;
                k = sd_event_run(r->event, UINT64_MAX);
                if (k < 0)
                        return k;
        }
}

static ExitStatus run_all(Runner *r) {
        int k;

        k = sd_event_new(&r->event);
        if (k >= 0)
                k = add_sources(r);
        if (k >= 0)
                k = loop(r);
        relay_flush(r->connection->relay);
        print_progress(r, true);
        stop_runs(r);
        (void) sd_bus_detach_event(r->connection->bus);
        sd_event_unref(r->event);
        if (r->n_interrupts > 0)
                return STATUS_INTERRUPTED;
        if (k < 0)
                complain("the experiment cannot go on: %s", g_strerror(-k));
        /* In a sweep a trial that fails is a result, too. */
        return k < 0 || r->lost || (n_in_state(r, CELL_FAILED) > 0 && !r->experiment->sweep) ? STATUS_FAILED
                                                                                             : STATUS_OK;
}

ExitStatus cells_run(const Experiment *experiment, GPtrArray *cells, const char *directory, uint64_t n_jobs,
                const Options *options) {
        g_autoptr(GPtrArray) runs = g_ptr_array_new_with_free_func(run_free);
        g_autofree char *state = g_build_filename(directory, "state", NULL),
                        *results = g_build_filename(directory, "cells", NULL);
        g_autoptr(Connection) connection = NULL;
        Runner runner = {
                .experiment = experiment,
                .cells = cells,
                .directory = results,
                .runs = runs,
                .n_jobs = n_jobs,
                .options = options,
                .quiet = options->quiet,
                .live = !options->quiet && terminal_obeys(STDERR_FILENO),
        };

        if (n_in_state(&runner, CELL_MISSING) == 0)
                return STATUS_OK;
        follow_prepare();
        if ((options->system || options->user ? connection_open(options, &connection)
                                              : connection_open_private_at(state, &connection)) < 0)
                return STATUS_FAILED;
        runner.connection = connection;
        return run_all(&runner);
}
