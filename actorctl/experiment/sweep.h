/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A sweep looks for good values of some keys. Its trials are the arms of an experiment, with values that are
 * drawn from ranges. In successive halving all trials begin with a short job, and the best go on to longer
 * jobs, rung by rung ("Non-stochastic Best Arm Identification and Hyperparameter Optimization", Jamieson and
 * Talwalkar, AISTATS 2016). The best of a rung are chosen when all of its cells are finished, so the order
 * in which cells finish does not matter. "A System for Massively Parallel Hyperparameter Tuning" (Li et al.,
 * MLSys 2020) calls this synchronous.
 *
 * All decisions here are functions of the file and of the finished cells, in the order of the trials. So an
 * interrupted sweep that continues gives the same result as one that ran through. */
#pragma once

#include "actorctl/experiment/experiment.h"

#define TRIALS_MAX  1000u
#define RANGES_MAX  32u
#define CHOICES_MAX 64u
#define RUNGS_MAX   16u
#define ETA_MAX     100u
#define STEPS_MAX   1000000000000000ull

typedef enum RangeKind { RANGE_UNIFORM, RANGE_LOG, RANGE_INT, RANGE_CHOICE, _RANGE_KIND_MAX } RangeKind;

/* The range from which a key's values are drawn. */
typedef struct Range {
        char *key; /* "Learner.LearningRate" */
        RangeKind kind;
        GStrv words; /* the lower and the upper end, spelled as in the file; for RANGE_CHOICE, the values */
        double low, high;
} Range;

typedef enum SweepMethod { SWEEP_RANDOM, SWEEP_HALVING, _SWEEP_METHOD_MAX } SweepMethod;

struct Sweep {
        SweepMethod method;
        uint64_t n_trials, seed;
        size_t n_rungs;                /* 1 for SWEEP_RANDOM */
        uint64_t eta;                  /* the best 1 / eta of a rung's trials enter the next rung */
        uint64_t min_steps, max_steps; /* of the first rung and the last; 0: the job's StopSteps= */
        Metric metric;                 /* by which trials are ranked */
        setting_money budget;          /* for all cells together; nano 0: there is none */
        GPtrArray *ranges;             /* of Range */
};

Sweep *sweep_new(void);
Sweep *sweep_free(Sweep *sweep);
const Range *sweep_range(const Sweep *sweep, size_t i);
const char *sweep_method_to_string(SweepMethod method);
/* The method of this name. -EINVAL: there is no such method. */
int sweep_method_from_string(const char *word);

/* Parses "log 1e-4 1e-2", "uniform 0 1", "int 1 8", "choice a b c" or "choice a b; c d". NULL with
 * *ret_reason, g_free(). */
Range *range_parse(const char *key, const char *text, char **ret_reason);
/* The value for a trial, as text for a job file; g_free(). Trials are counted from 1. The value does not
 * depend on the other keys or on the number of trials, and is the same on every host. */
char *range_draw(const Range *range, uint64_t seed, uint64_t trial);

/* The value that was drawn for a trial (an arm) from a range. The string belongs to the arm. */
const char *trial_value(const Experiment *experiment, size_t arm, size_t range);

/* StopSteps= of a rung: a geometric sequence between the first and the last. Rungs are counted from 0. If
 * the result is 0, the job's own StopSteps= applies. */
uint64_t sweep_steps(const Sweep *sweep, size_t rung);
/* How many of n trials in a rung go on. */
uint64_t sweep_room(const Sweep *sweep, uint64_t n);

/* The result of a trial at the end of a rung. */
typedef struct Standing {
        size_t trial;
        double value; /* the higher, the better; minus infinity: the trial failed, or has no value */
} Standing;

/* The median over the seeds. Seeds without a value count as worse than all others. */
double standing_value(const double *values, size_t n);
/* Sorts the best trial first. Of two trials with the same value, the one with the lower number comes
 * first. */
void standings_sort(Standing *standings, size_t n);
/* How many of the sorted trials go on if there is room for this many. Failed trials never go on. */
size_t standings_promoted(const Standing *standings, size_t n, uint64_t room);

/* Decides, in order, which of n trials start. left: the rest of the budget. estimates[i]: the cost that
 * trial i may have; 0: unknown. A trial starts if it fits the rest, beside the trials that start before it.
 * The trials that start divide the rest in proportion to their estimates, so together they cannot cost more.
 * ret_caps[i]: the share of trial i; 0: it does not start. Returns how many start. */
size_t sweep_admit(uint64_t left, const uint64_t *estimates, size_t n, uint64_t *ret_caps);
/* How many trials of the first rung start next, if the sweep has a budget: 1, 1, 2, 4, … Costs are not known
 * before the first trial is finished. n_decided: the trials that do not wait any more. */
size_t sweep_wave(size_t n_decided);

/* Makes the cells of the first rung; none of them may start yet. Also checks the settings of all trials, the
 * ends or choices of all ranges, and the last rung. STATUS_OK; or another status, with a message. */
ExitStatus sweep_cells(const Experiment *experiment, GPtrArray **ret);
/* Makes all decisions that follow from the finished cells: lets trials start, reads from the directory which
 * of their cells are finished already, and adds the cells of the next rung. 0; or a negative errno, with a
 * message. */
int sweep_settle(const Experiment *experiment, GPtrArray *cells, const char *directory);

/* TRIAL_OPEN: whether the trial goes on is not decided yet; TRIAL_DROPPED: it did not go on, since other
 * trials were better or it has no value. */
typedef enum TrialState { TRIAL_OPEN, TRIAL_DONE, TRIAL_DROPPED, TRIAL_FAILED, TRIAL_UNPAID } TrialState;

const char *trial_state_to_string(TrialState state);

typedef struct Trial {
        size_t arm;
        size_t n_rungs; /* rungs that the trial has finished */
        /* StopSteps= of the last finished rung; 0: no rung is finished, or the job's own value applies */
        uint64_t n_steps;
        double value; /* of the metric, at the end of the last finished rung; NaN: none */
        double cost;  /* of all cells of the trial, with evaluations, in the currency of the price sheet */
        TrialState state;
        const char *fault; /* of the first cell that failed; NULL: none did */
} Trial;

/* All trials, of Trial, the best first; g_array_unref(). */
GArray *sweep_trials(const Experiment *experiment, const GPtrArray *cells);
/* Whether a trial has a value; then the first of the sorted trials is the best. */
bool trials_have_best(const GArray *trials);
/* The cost of all cells together. */
double sweep_cost(const GPtrArray *cells);

/* Reports: writes cells.csv, rounds.csv, summary.md, summary.json and sweep.svg into the directory. 0; or a
 * negative errno, with a message. */
int sweep_write(const Experiment *experiment, const GPtrArray *cells, const char *directory);
/* The picture as SVG text, g_free(). */
char *sweep_picture(const Experiment *experiment, const GPtrArray *cells, size_t *ret_n);
/* Prints the table of the trials to standard output. */
void sweep_print(const Experiment *experiment, const GPtrArray *cells, const Options *options);
/* Sentences; g_free(). The first says how the sweep searches. The second says how much was spent, and how
 * many trials did not start for lack of budget. */
char *sweep_describe(const Experiment *experiment);
char *sweep_spending(const Experiment *experiment, const GPtrArray *cells, const GArray *trials);
/* The --set options that make a job of a trial, g_free(). */
char *trial_sets(const Experiment *experiment, const Trial *trial);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Sweep, sweep_free)
