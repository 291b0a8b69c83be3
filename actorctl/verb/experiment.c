/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* experiment: runs the missing cells, then writes reports of all finished ones. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "actorctl/experiment/sweep.h"
#include "actorctl/job-status.h"
#include "actorctl/view/pager.h"
#include "actorctl/view/table.h"
#include "lib/cleanup.h"

/* Locks the directory: without the lock, two runs of one experiment would run the same cells. Returns the
 * descriptor that holds the lock; or a negative errno, with a message. */
static int prepare_directory(const char *directory) {
        g_autofree char *cells = g_build_filename(directory, "cells", NULL);
        _cleanup_close_ int fd = -EBADF;

        if (g_mkdir_with_parents(cells, 0777) < 0 ||
                        (fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0) {
                complain("%s cannot be made for the results: %s", directory, g_strerror(errno));
                return -errno;
        }
        if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
                complain("another experiment is writing to %s: wait until it has ended, or name another "
                         "directory with --output",
                                directory);
                return -errno;
        }
        return TAKE_FD(fd);
}

static const char *state_word(CellState state) {
        switch (state) {
        case CELL_MISSING:
        case CELL_RUNNING: return "missing";
        case CELL_DONE: return "done";
        case CELL_FAILED: return "failed";
        case CELL_WAITING: return "waiting";
        case CELL_UNPAID: return "not started";
        }
        g_assert_not_reached();
}

static ExitStatus print_cells(const Options *options, const GPtrArray *cells) {
        g_autoptr(Table) table = table_new();
        uint64_t total = 0, missing = 0;
        char all[32], left[32];

        table_column(table, "CELL", "cell", COLUMN_TEXT);
        table_column(table, "ACTOR-ROUNDS", "actor_rounds", COLUMN_NUMBER);
        table_column(table, "STATE", "state", COLUMN_TEXT);
        for (guint i = 0; i < cells->len; i++) {
                const Cell *cell = cells->pdata[i];

                table_string(table, cell->name);
                table_unsigned(table, cell->actor_rounds);
                table_string(table, state_word(cell->state));
                total += cell->actor_rounds;
                missing += cell->state == CELL_MISSING || cell->state == CELL_WAITING ? cell->actor_rounds
                                                                                      : 0;
        }
        pager_open(options);
        table_print(table, options, "cell");
        if (!options->no_legend)
                printf("%s actor-rounds, of which %s are still to be run.\n", format_count(total, all),
                                format_count(missing, left));
        pager_close();
        return STATUS_OK;
}

static int write_reports(const Options *options, const Experiment *experiment, GPtrArray *cells,
                const char *directory) {
        int r;

        if (experiment->sweep)
                r = sweep_write(experiment, cells, directory);
        else {
                r = report_write(experiment, cells, directory);
                if (r >= 0)
                        r = plots_write(experiment, cells, directory);
        }
        if (r < 0)
                return r;
        if (experiment->sweep && !options->quiet)
                sweep_print(experiment, cells, options);
        if (!options->quiet)
                printf("summary, tables and plots are in %s\n", directory);
        return 0;
}

static ExitStatus run(const Options *options, const Experiment *experiment, GPtrArray *cells,
                const char *directory) {
        _cleanup_close_ int lock = prepare_directory(directory);
        g_autoptr(GArray) trials = NULL;
        ExitStatus status;

        if (lock < 0)
                return STATUS_FAILED;
        if (results_read(experiment, cells, directory) < 0)
                return STATUS_FAILED;
        status = cells_run(experiment, cells, directory, options->n_jobs, options);
        if (write_reports(options, experiment, cells, directory) < 0)
                return MAX(status, STATUS_FAILED);
        if (status != STATUS_OK || !experiment->sweep)
                return status;
        trials = sweep_trials(experiment, cells);
        if (trials_have_best(trials))
                return status;
        complain("no trial has a value of %s; %s/summary.md says why",
                        metric_to_string(experiment->sweep->metric), directory);
        return STATUS_FAILED;
}

ExitStatus verb_experiment(const Options *options, char **arguments, size_t n) {
        g_autofree char *directory = results_directory(options->output, arguments[0]);
        g_autoptr(Experiment) experiment = NULL;
        g_autoptr(GPtrArray) cells = NULL;
        ExitStatus status;

        status = experiment_open(arguments[0], &experiment, &cells);
        if (status != STATUS_OK)
                return status;
        if (options->dry_run) {
                if (results_read(experiment, cells, directory) < 0)
                        return STATUS_FAILED;
                return print_cells(options, cells);
        }
        return run(options, experiment, cells, directory);
}
