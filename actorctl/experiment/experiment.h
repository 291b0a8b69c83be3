/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An experiment compares settings. It is a matrix of cells. Each cell is one job: one arm, one combination
 * of the factors' levels, and one seed. A finished cell is a file, so an interrupted experiment can
 * continue. */
#pragma once

#include <errno.h>
#include <json-glib/json-glib.h>
#include <limits.h>

#include "actorctl/job-file.h"

#define ARMS_MAX    64u
#define FACTORS_MAX 8u
#define LEVELS_MAX  64u
#define SEEDS_MAX   10000u
#define CELLS_MAX   100000u
#define SHEETS_MAX  32u
/* the name of a cell's file while it is written: ".CELL.json.new" */
#define CELL_NAME_MAX (NAME_MAX - (sizeof("..json.new") - 1))

typedef struct Arm {
        char *name;
        GPtrArray *sets; /* texts "Section.Key=VALUE" */
} Arm;

typedef struct Factor {
        char *name;
        GPtrArray *levels; /* Arms, since a level has a name and overrides, too */
} Factor;

typedef struct Sweep Sweep; /* actorctl/experiment/sweep.h */

typedef struct Experiment {
        char *file_name, *text;
        char *title, *job_file, *job_text;
        GArray *seeds;      /* uint64_t, in the order of the file */
        GPtrArray *sets;    /* common to all cells */
        GPtrArray *arms;    /* Arms */
        GPtrArray *factors; /* Factors */
        GStrv prices;       /* further sheets by which every cell is billed; NULL: none */
        GArray *metrics;    /* Metrics */
        double target;      /* NaN: there is none */
        int baseline;       /* the number of the arm to compare with; -1: there is none */
        Sweep *sweep;       /* NULL: there is none. Its trials are the arms, its rungs the only factor */
} Experiment;

/* Columns of equal length, with a row for each round. */
typedef struct Series {
        size_t n_rounds;
        GPtrArray *names;  /* char * */
        GPtrArray *values; /* double[n_rounds] */
} Series;

/* The results of a finished job. */
typedef struct Outcome {
        JsonNode *result; /* the object that `run --json` prints */
        JsonNode *bills;  /* by the name of each sheet of Prices=; NULL: there are none */
        Series series;
} Outcome;

typedef enum CellState {
        CELL_MISSING, /* has to be run */
        CELL_RUNNING,
        CELL_DONE,
        CELL_FAILED,
        CELL_WAITING, /* of a sweep: whether the cell runs is not decided yet */
        CELL_UNPAID,  /* of a sweep: the cell would exceed the budget */
} CellState;

typedef struct Cell {
        size_t arm, levels[FACTORS_MAX];
        uint64_t seed;
        char *name;
        char *definition;       /* SHA-256 of everything on which the result depends: actord-experiment(5) */
        uint32_t n_cpus;        /* how many CPUs its job can keep busy */
        uint32_t n_actors_max;  /* MaxActors= */
        uint32_t n_actors_most; /* the most that its policy can decide, perhaps fewer than MaxActors= */
        uint64_t actor_rounds;  /* actors times rounds, an estimate from StopSteps= */
        char *currency;         /* of its price sheet; NULL: only the daemon knows that */
        char *scheduler;        /* the name in Policy=minions:NAME; NULL: another policy */
        bool evaluates, budgeted; /* whether it has evaluations, and a Budget= of its own */
        uint64_t cap_nano;        /* its limit, out of the sweep's Budget=; 0: none */
        struct Cell *after;       /* the cell whose decisions this cell repeats; NULL: none */
        CellState state;
        char *fault;      /* of CELL_FAILED */
        double cost;      /* of CELL_FAILED: its full total; 0 or NaN: not known */
        Outcome *outcome; /* of CELL_DONE */
} Cell;

/* The figures that are measured for each cell. X(NAME, word, heading, 1: more is better; -1: less is) */
/* clang-format off */
#define METRICS(X)                                                                           \
        X(EVALUATION_LAST, "evaluation_last", "Evaluation return, last round", 1)            \
        X(EVALUATION_LAST5, "evaluation_last5", "Evaluation return, last 5 rounds", 1)       \
        X(EVALUATION_AREA, "evaluation_area", "Evaluation return, area under the curve", 1)  \
        X(RETURN_LAST, "return_last", "Training return, last round", 1)                      \
        X(RETURN_LAST5, "return_last5", "Training return, last 5 rounds", 1)                 \
        X(RETURN_AREA, "return_area", "Training return, area under the curve", 1)            \
        X(COST, "cost", "Cost of training, full total", -1)                                  \
        X(COST_PAPER, "cost_paper", "Cost, paper total", -1)                                 \
        X(TIME, "time", "Emulated time in seconds", -1)                                      \
        X(COST_TO_TARGET, "cost_to_target", "Cost of training to the target, full total", -1)\
        X(TIME_TO_TARGET, "time_to_target", "Emulated time to the target in seconds", -1)    \
        X(ACTOR_ROUNDS, "actor_rounds", "Actor-rounds", -1)
/* clang-format on */

typedef enum Metric {
#define X(name, ...) METRIC_##name,
        METRICS(X)
#undef X
                        _METRIC_MAX,
        _METRIC_INVALID = -EINVAL,
} Metric;

const char *metric_to_string(Metric metric);
Metric metric_from_string(const char *word);
const char *metric_heading(Metric metric);
/* Whether more of the metric is better (1), or less (-1). */
int metric_sense(Metric metric);

/* Series: a column of n_rounds numbers; NULL: not measured. */
const double *series_column(const Series *series, const char *name);
/* Adds a column of NaNs and returns it. */
double *series_add(Series *series, const char *name);
/* Adds the column cost_training: the full total without evaluations. */
void series_complete(Series *series);

/* file.c: parses an experiment and reads its job file. STATUS_OK; or another status, with a message. */
ExitStatus experiment_load(const char *file, Experiment **ret);
/* Parses an experiment's text; the job file's path is relative to file_name. */
ExitStatus experiment_parse(const char *file_name, const char *text, Experiment **ret);
Experiment *experiment_free(Experiment *experiment);
/* Turns "1-3, 7" into 1, 2, 3, 7. NULL with *ret_reason, g_free(). */
GArray *seeds_parse(const char *text, char **ret_reason);

/* Matrix */
Arm *arm_new(const char *name);
void arm_free(gpointer arm);
Factor *factor_new(const char *name);
void factor_free(gpointer factor);
const Arm *experiment_arm(const Experiment *experiment, size_t i);
const Factor *experiment_factor(const Experiment *experiment, size_t i);
/* The level of a factor in a cell. */
const Arm *experiment_level(const Experiment *experiment, const Cell *cell, size_t factor);
/* The levels of a cell, such as "per-data, linear", or "" without factors; g_free(). */
char *experiment_levels(const Experiment *experiment, const Cell *cell, const char *separator);
size_t experiment_n_combinations(const Experiment *experiment);
/* The number of the cell's combination of levels, from 0. */
size_t cell_combination(const Experiment *experiment, const Cell *cell);
/* Sets the cell's levels to those of a combination. It is the inverse of cell_combination(). */
void cell_set_combination(const Experiment *experiment, Cell *cell, size_t combination);

/* cells.c: makes the whole matrix of Cells, and checks the settings of each job. STATUS_OK; or another
 * status, with a message. */
ExitStatus cells_make(const Experiment *experiment, GPtrArray **ret);
/* Makes a cell; cell_check() gives it its definition. cell_free() */
Cell *cell_new(const Experiment *experiment, size_t arm, size_t combination, uint64_t seed);
void cell_free(gpointer cell);
ExitStatus cell_check(const Experiment *experiment, Cell *cell);
/* The total of all charges on the cell's bill ("full total"); 0: not known. */
double cell_cost(const Cell *cell);
/* The overrides of a cell: the common ones, its arm's, its levels', its seed. */
GPtrArray *cell_sets(const Experiment *experiment, const Cell *cell);

/* A plot that was drawn. */
typedef struct PlotFile {
        const char *name;
        char *svg; /* NULL: there is nothing to draw */
        size_t n;
} PlotFile;

typedef struct CellSource {
        OverrideSource source;
        const Experiment *experiment;
        const Cell *cell;
} CellSource;

/* The place in the experiment's file of each override of a cell, for messages about the cell's job file. */
CellSource cell_source(const Experiment *experiment, const Cell *cell);

/* definition.c: the SHA-256 of everything on which a cell's result depends. after: the cell that it
 * follows, or NULL. g_free(). */
char *cell_define(const Experiment *experiment, const JobFile *job_file, const Cell *after);

/* outcome.c: writes a cell's file into a directory, completely or not at all. In a sweep a failed cell has a
 * file, too, since the failure affects the trial's rank. */
int outcome_write(const Experiment *experiment, const Cell *cell, const char *directory);
/* Reads a finished cell. 1: the cell is done or, in a sweep, has failed; 0: there is no file, it belongs to
 * another definition of the cell, its failure does not count any more, or (with a message) it cannot be read
 * or is damaged; -EEXIST, with a message: it belongs to another experiment, and is not a result of this
 * definition. */
int outcome_read(const Experiment *experiment, Cell *cell, const char *directory);
/* Looks at a file that none of the cells has. 0; or -EEXIST, with a message: it is a cell of another
 * experiment. */
int outcome_check_owner(const Experiment *experiment, const char *path);
Outcome *outcome_free(Outcome *outcome);

/* metrics.c: the value of a metric. NaN: not measured, or not reached. */
double outcome_metric(const Outcome *outcome, Metric metric, double target);
/* The full total of the outcome's bill, evaluations included. */
double outcome_full(const Outcome *outcome);
/* Whether the metric is the cost or the time until the target is reached. If a cell never reaches it, the
 * metric has no value. */
bool metric_is_to_target(Metric metric);
/* Like outcome_metric(), except for a cell that ended before its target: this returns the cell's cost or
 * time until its end. The mean of such values is a restricted mean. Without these cells, arms that often
 * miss the target would look too good. */
double outcome_restricted(const Outcome *outcome, Metric metric, double target);

/* Whether there are CPUs for a cell's job, while other jobs use n_busy CPUs. A job that needs more than all
 * CPUs runs alone. */
bool cell_fits(const Cell *cell, uint64_t n_busy, uint32_t n_cpus);
/* run.c: runs all missing cells, at most n_jobs at once; 0: as many as the CPUs allow. STATUS_INTERRUPTED:
 * the user ended the experiment. */
ExitStatus cells_run(const Experiment *experiment, GPtrArray *cells, const char *directory, uint64_t n_jobs,
                const Options *options);

/* report.c: writes cells.csv, rounds.csv and summary.md into the directory. 0; or a negative errno, with a
 * message. */
int report_write(const Experiment *experiment, const GPtrArray *cells, const char *directory);
/* The plots, of PlotFile; g_ptr_array_unref(). */
GPtrArray *plots_draw(const Experiment *experiment, const GPtrArray *cells);
int plots_write(const Experiment *experiment, const GPtrArray *cells, const char *directory);

/* results.c: where an experiment's results lie; output NULL: beside the file. g_free(). */
char *results_directory(const char *output, const char *file);
/* Reads the finished cells from the results directory into `cells`. 0; or a negative errno, with a
 * message. */
int results_read(const Experiment *experiment, GPtrArray *cells, const char *directory);
/* Reads an experiment, and makes its cells. STATUS_OK; or another status, with a message. */
ExitStatus experiment_open(const char *file, Experiment **ret_experiment, GPtrArray **ret_cells);

/* Replaces DIRECTORY/NAME. 0; or a negative errno, with a message. */
int result_file_write(const char *directory, const char *name, const char *text, size_t n);

/* Writes only cells.csv and rounds.csv. */
int tables_write(const Experiment *experiment, const GPtrArray *cells, const char *directory);
/* The cost of training a cell's scheduler; NULL: none was trained, or the cell is not finished. */
JsonObject *scheduler_bill(const Cell *cell);
/* A total of a bill, such as "full"; NaN: there is none. */
double bill_total(JsonObject *bill, const char *name);

/* The currency of the bills; "" while no cell is finished. */
const char *cells_currency(const GPtrArray *cells);

/* The values of one metric, by outcome_restricted(), for a group of cells that differ only by seed, in the
 * order of the seeds; NaN: the cell has no value. */
double *group_values(const Experiment *experiment, const GPtrArray *cells, size_t arm, size_t combination,
                Metric metric);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Experiment, experiment_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Outcome, outcome_free)
