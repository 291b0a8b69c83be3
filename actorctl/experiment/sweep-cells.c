/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The cells of a sweep, in one array. The cells of a rung are together, in the order in which trials may
 * start, with the seeds of a trial side by side. The cells of the next rung are appended. This file gathers
 * the results of cells, calls the pure functions of sweep.c for decisions, and carries the decisions out. */
#include "actorctl/experiment/sweep.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define NANO 1e9

/* Reports a problem with a key of [Sweep] that is found only when the jobs are checked. */
static ExitStatus complain_key(const Experiment *experiment, const char *key, const char *reason) {
        (void) fflush(stdout);
        fprintf(stderr, "%s:%u: [Sweep] %s=: %s\n", experiment->file_name,
                        settings_locate(experiment->text, "Sweep", key), key, reason);
        return STATUS_USAGE;
}

/* The rung of a cell: the level of the cell's first factor, since the rung is the only factor of a sweep. */
static size_t rung_of(const Cell *cell) {
        return cell->levels[0];
}

static ExitStatus add_trial(const Experiment *experiment, size_t trial, size_t rung, GPtrArray *cells) {
        for (guint i = 0; i < experiment->seeds->len; i++) {
                Cell *cell = cell_new(
                                experiment, trial, rung, g_array_index(experiment->seeds, uint64_t, i));
                ExitStatus status;

                g_ptr_array_add(cells, cell);
                cell->state = CELL_WAITING;
                status = cell_check(experiment, cell);
                if (status != STATUS_OK)
                        return status;
        }
        return STATUS_OK;
}

/* Checks a value of a range, even if no trial draws it. Otherwise a mistake might be found only when Trials=
 * is raised. */
static ExitStatus check_value(const Experiment *experiment, const Range *range, const char *value) {
        Experiment probe = *experiment;
        g_autoptr(GPtrArray) arms = g_ptr_array_new_with_free_func(arm_free);
        Arm *arm = arm_new("range");
        ExitStatus status;
        Cell *cell;

        g_ptr_array_add(arm->sets, g_strdup_printf("%s=%s", range->key, value));
        g_ptr_array_add(arms, arm);
        probe.arms = arms;
        cell = cell_new(&probe, 0, 0, g_array_index(experiment->seeds, uint64_t, 0));
        status = cell_check(&probe, cell);
        cell_free(cell);
        return status;
}

static ExitStatus check_ranges(const Experiment *experiment) {
        for (guint i = 0; i < experiment->sweep->ranges->len; i++) {
                const Range *range = sweep_range(experiment->sweep, i);

                for (char **word = range->words; *word; word++) {
                        ExitStatus status = check_value(experiment, range, *word);

                        if (status != STATUS_OK)
                                return status;
                }
        }
        return STATUS_OK;
}

static ExitStatus check_last_rung(const Experiment *experiment) {
        Cell *cell = cell_new(experiment, 0, experiment->sweep->n_rungs - 1,
                        g_array_index(experiment->seeds, uint64_t, 0));
        ExitStatus status = cell_check(experiment, cell);

        cell_free(cell);
        return status;
}

static ExitStatus check_currency(const Experiment *experiment, const Cell *cell) {
        const char *ours = experiment->sweep->budget.currency;
        g_autofree char *reason = NULL;

        if (!ours[0] || !cell->currency || strcmp(ours, cell->currency) == 0)
                return STATUS_OK;
        reason = g_strdup_printf(
                        "it is in %s, but the price sheet of %s is in %s", ours, cell->name, cell->currency);
        return complain_key(experiment, "Budget", reason);
}

/* A job's share of the sweep's budget becomes the job's Budget=. If the job's scheduler depends on Budget=,
 * a cell's result would depend on the cost of earlier cells. So such jobs are refused, and jobs with another
 * currency, a Budget= of their own, or no evaluation for an evaluation's metric. */
static ExitStatus check_jobs(const Experiment *experiment, const GPtrArray *cells) {
        const Sweep *sweep = experiment->sweep;
        bool evaluation = sweep->metric <= METRIC_EVALUATION_AREA;

        for (guint i = 0; i < cells->len; i++) {
                const Cell *cell = cells->pdata[i];

                if (evaluation && !cell->evaluates)
                        return complain_key(experiment, "Metric",
                                        "nothing is evaluated; set Evaluation.Episodes= in [Set]");
                if (sweep->budget.nano > 0 && cell->budgeted)
                        return complain_key(experiment, "Budget",
                                        "the jobs have a Budget= of their own; unset it by Job.Budget= in "
                                        "[Set], or leave this one out");
                if (sweep->budget.nano > 0 && cell->scheduler)
                        return complain_key(experiment, "Budget",
                                        "Scaling.Policy=minions depends on the money that a job has left, "
                                        "which would differ from trial to trial; leave this budget out");
                if (check_currency(experiment, cell) != STATUS_OK)
                        return STATUS_USAGE;
        }
        return STATUS_OK;
}

ExitStatus sweep_cells(const Experiment *experiment, GPtrArray **ret) {
        g_autoptr(GPtrArray) cells = g_ptr_array_new_with_free_func(cell_free);
        ExitStatus status = check_ranges(experiment);

        for (size_t trial = 0; status == STATUS_OK && trial < experiment->sweep->n_trials; trial++)
                status = add_trial(experiment, trial, 0, cells);
        if (status == STATUS_OK)
                status = check_last_rung(experiment);
        if (status == STATUS_OK)
                status = check_jobs(experiment, cells);
        if (status == STATUS_OK)
                *ret = g_steal_pointer(&cells);
        return status;
}

static bool is_settled(const Cell *cell) {
        return cell->state == CELL_DONE || cell->state == CELL_FAILED || cell->state == CELL_UNPAID;
}

static uint64_t nano(double money) {
        return money > 0 ? (uint64_t) floor(money * NANO + 0.5) : 0;
}

/* The cells of one trial in one rung. */
typedef struct Group {
        Cell **cells;
        size_t n;
} Group;

static Group group_at(const Experiment *experiment, const GPtrArray *cells, guint at) {
        return (Group){ (Cell **) cells->pdata + at, experiment->seeds->len };
}

static bool group_settled(const Group *group) {
        for (size_t i = 0; i < group->n; i++)
                if (!is_settled(group->cells[i]))
                        return false;
        return true;
}

static uint64_t group_cost(const Group *group) {
        uint64_t sum = 0;

        for (size_t i = 0; i < group->n; i++)
                sum += nano(cell_cost(group->cells[i]));
        return sum;
}

/* The trial's value by the metric; higher is better. It is the median over the seeds. A missed target or a
 * failed cell counts as the worst value. */
static double group_value(const Experiment *experiment, const Group *group) {
        g_autofree double *values = g_new(double, group->n);
        Metric metric = experiment->sweep->metric;

        for (size_t i = 0; i < group->n; i++) {
                const Outcome *outcome = group->cells[i]->outcome;

                values[i] = outcome ? metric_sense(metric) * outcome_metric(outcome, metric,
                                                                             experiment->target)
                                    : NAN;
        }
        return standing_value(values, group->n);
}

/* The index of the newest rung's first cell. */
static guint newest_rung(const GPtrArray *cells) {
        guint at = cells->len;
        size_t rung = rung_of(cells->pdata[cells->len - 1]);

        while (at > 0 && rung_of(cells->pdata[at - 1]) == rung)
                at--;
        return at;
}

/* The cost of a trial in the rung before. */
static uint64_t cost_before(const Experiment *experiment, const GPtrArray *cells, const Cell *cell) {
        for (guint i = 0; i < cells->len; i += experiment->seeds->len) {
                Group group = group_at(experiment, cells, i);

                if (group.cells[0]->arm == cell->arm && rung_of(group.cells[0]) + 1 == rung_of(cell))
                        return group_cost(&group);
        }
        return 0;
}

/* Estimates a waiting trial's cost. In the first rung this is the highest cost of a trial so far. In a later
 * rung it is the trial's earlier cost, in proportion to the steps. */
static uint64_t estimate(
                const Experiment *experiment, const GPtrArray *cells, const Group *group, uint64_t dearest) {
        size_t rung = rung_of(group->cells[0]);

        if (rung == 0)
                return dearest;
        return nano((double) cost_before(experiment, cells, group->cells[0]) / NANO *
                        (double) sweep_steps(experiment->sweep, rung) /
                        (double) sweep_steps(experiment->sweep, rung - 1));
}

static void let_start(const Group *group, bool starts, uint64_t cap) {
        for (size_t i = 0; i < group->n; i++) {
                group->cells[i]->state = starts ? CELL_MISSING : CELL_UNPAID;
                group->cells[i]->cap_nano = cap > 0 ? MAX(cap / group->n, 1) : 0;
        }
}

/* The inputs of decisions about the budget. */
typedef struct Account {
        uint64_t spent, dearest; /* the costs of all cells; of the newest rung's most expensive trial */
        size_t n_decided;        /* trials of the newest rung that are not waiting any more */
        GArray *waiting;         /* of Group */
} Account;

static void account_gather(
                const Experiment *experiment, const GPtrArray *cells, guint from, Account *account) {
        for (guint i = 0; i < cells->len; i += experiment->seeds->len) {
                Group group = group_at(experiment, cells, i);

                account->spent += group_cost(&group);
                if (group.cells[0]->state == CELL_WAITING)
                        g_array_append_val(account->waiting, group);
                else if (i >= from) {
                        account->dearest = MAX(account->dearest, group_cost(&group));
                        account->n_decided++;
                }
        }
}

/* Lets trials start. Without a budget the whole rung may start. With a budget, the costs of earlier trials
 * decide. */
static void admit(const Experiment *experiment, const GPtrArray *cells, guint from) {
        g_autoptr(GArray) waiting = g_array_new(FALSE, FALSE, sizeof(Group));
        uint64_t budget = experiment->sweep->budget.nano;
        Account account = { .waiting = waiting };
        g_autofree uint64_t *estimates = NULL, *caps = NULL;
        size_t n;

        account_gather(experiment, cells, from, &account);
        n = waiting->len;
        if (budget > 0 && rung_of(cells->pdata[from]) == 0)
                n = MIN(n, sweep_wave(account.n_decided));
        estimates = g_new0(uint64_t, n);
        caps = g_new0(uint64_t, n);
        for (size_t i = 0; i < n; i++)
                estimates[i] = estimate(
                                experiment, cells, &g_array_index(waiting, Group, i), account.dearest);
        if (budget > 0)
                (void) sweep_admit(budget > account.spent ? budget - account.spent : 0, estimates, n, caps);
        for (size_t i = 0; i < n; i++)
                let_start(&g_array_index(waiting, Group, i), budget == 0 || caps[i] > 0, caps[i]);
}

/* Promotes the best trials of the newest rung to the next one. 1: it has promoted some; 0: the sweep has
 * ended; or a negative errno, with a message. */
static int open_next(const Experiment *experiment, GPtrArray *cells, guint from) {
        size_t n_seeds = experiment->seeds->len, n = 0, rung = rung_of(cells->pdata[from]), promoted;
        g_autofree Standing *standings = g_new0(Standing, cells->len);

        if (rung + 1 >= experiment->sweep->n_rungs)
                return 0;
        for (guint i = from; i < cells->len; i += n_seeds) {
                Group group = group_at(experiment, cells, i);

                if (group.cells[0]->state != CELL_UNPAID)
                        standings[n++] = (Standing){ group.cells[0]->arm, group_value(experiment, &group) };
        }
        standings_sort(standings, n);
        promoted = standings_promoted(standings, n, sweep_room(experiment->sweep, n));
        for (size_t i = 0; i < promoted; i++)
                if (add_trial(experiment, standings[i].trial, rung + 1, cells) != STATUS_OK)
                        return -EINVAL;
        return promoted > 0;
}

static int read_started(
                const Experiment *experiment, const GPtrArray *cells, guint from, const char *directory) {
        for (guint i = from; i < cells->len; i++) {
                Cell *cell = cells->pdata[i];
                int r;

                if (cell->state != CELL_MISSING)
                        continue;
                r = outcome_read(experiment, cell, directory);
                if (r < 0)
                        return r;
        }
        return 0;
}

int sweep_settle(const Experiment *experiment, GPtrArray *cells, const char *directory) {
        for (;;) {
                guint from = newest_rung(cells);
                bool waits = false;
                int r;

                for (guint i = from; i < cells->len; i++) {
                        const Cell *cell = cells->pdata[i];

                        if (cell->state == CELL_MISSING || cell->state == CELL_RUNNING)
                                return 0;
                        waits = waits || cell->state == CELL_WAITING;
                }
                if (waits) {
                        admit(experiment, cells, from);
                        r = read_started(experiment, cells, from, directory);
                } else
                        r = open_next(experiment, cells, from);
                if (r < 0 || (r == 0 && !waits))
                        return r;
        }
}

const char *trial_state_to_string(TrialState state) {
        static const char *const words[] = { "unfinished", "done", "dropped", "failed", "not started" };

        return words[state];
}

/* Adds the results of a trial's cells in one rung. Call it for one rung after the other. */
static void trial_add(const Experiment *experiment, Trial *trial, const Group *group) {
        size_t rung = rung_of(group->cells[0]);
        double value;

        trial->cost += (double) group_cost(group) / NANO;
        for (size_t i = 0; i < group->n && !trial->fault; i++)
                trial->fault = group->cells[i]->fault;
        trial->state = group->cells[0]->state == CELL_UNPAID ? TRIAL_UNPAID : TRIAL_OPEN;
        if (trial->state == TRIAL_UNPAID || !group_settled(group))
                return;
        value = group_value(experiment, group);
        trial->n_rungs = rung + 1;
        trial->n_steps = sweep_steps(experiment->sweep, rung);
        trial->value = isfinite(value) ? metric_sense(experiment->sweep->metric) * value : NAN;
        if (trial->fault && isnan(trial->value))
                trial->state = TRIAL_FAILED;
        else if (rung + 1 == experiment->sweep->n_rungs)
                trial->state = TRIAL_DONE;
}

/* The class by which trials are sorted first. 0: the trial has a value; 1: it has none, and did not fail; 2:
 * it failed; 3: it did not start. */
static int class_of(const Trial *trial) {
        if (trial->state == TRIAL_FAILED)
                return 2;
        if (trial->n_rungs == 0 && trial->state == TRIAL_UNPAID)
                return 3;
        return isnan(trial->value);
}

static int compare_trials(const void *a, const void *b, void *userdata) {
        const Trial *p = a, *q = b;
        int sense = *(const int *) userdata;
        double x = isnan(p->value) ? -INFINITY : sense * p->value,
               y = isnan(q->value) ? -INFINITY : sense * q->value;

        if (class_of(p) != class_of(q))
                return class_of(p) - class_of(q);
        if (p->n_rungs != q->n_rungs)
                return p->n_rungs > q->n_rungs ? -1 : 1;
        if (x != y)
                return x > y ? -1 : 1;
        return (p->arm > q->arm) - (p->arm < q->arm);
}

GArray *sweep_trials(const Experiment *experiment, const GPtrArray *cells) {
        GArray *trials = g_array_new(FALSE, FALSE, sizeof(Trial));
        guint from = newest_rung(cells);
        size_t newest = rung_of(cells->pdata[from]);
        int sense = metric_sense(experiment->sweep->metric);
        bool over = true;

        for (size_t i = 0; i < experiment->sweep->n_trials; i++) {
                Trial trial = { .arm = i, .value = NAN };

                g_array_append_val(trials, trial);
        }
        for (guint i = 0; i < cells->len; i += experiment->seeds->len) {
                Group group = group_at(experiment, cells, i);

                trial_add(experiment, &g_array_index(trials, Trial, group.cells[0]->arm), &group);
                over = over && group_settled(&group);
        }
        for (guint i = 0; i < trials->len; i++) {
                Trial *trial = &g_array_index(trials, Trial, i);

                if (trial->state == TRIAL_OPEN && trial->n_rungs > 0 && (over || trial->n_rungs <= newest))
                        trial->state = TRIAL_DROPPED;
        }
        g_array_sort_with_data(trials, compare_trials, &sense);
        return trials;
}

double sweep_cost(const GPtrArray *cells) {
        double sum = 0;

        for (guint i = 0; i < cells->len; i++)
                sum += cell_cost(cells->pdata[i]);
        return sum;
}

bool trials_have_best(const GArray *trials) {
        return trials->len > 0 && isfinite(g_array_index(trials, Trial, 0).value);
}
