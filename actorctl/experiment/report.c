/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The summary of an experiment, for people. */
#include <math.h>
#include <string.h>

#include "actorctl/experiment/experiment.h"
#include "actorctl/experiment/numbers.h"

/* Moves the finite values to the front; with `others`, only pairs in which both are finite. */
static size_t keep_finite(double *values, double *others, size_t n) {
        size_t kept = 0;

        for (size_t i = 0; i < n; i++)
                if (isfinite(values[i]) && (!others || isfinite(others[i]))) {
                        values[kept] = values[i];
                        if (others)
                                others[kept] = others[i];
                        kept++;
                }
        return kept;
}

static bool is_money(Metric metric) {
        return metric == METRIC_COST || metric == METRIC_COST_PAPER || metric == METRIC_COST_TO_TARGET;
}

/* "| per-data | linear | fixed": the beginning of a row. */
static void add_group(const Experiment *experiment, size_t arm, size_t combination, GString *text) {
        Cell cell = { .arm = arm };
        g_autofree char *levels = NULL;

        cell_set_combination(experiment, &cell, combination);
        levels = experiment_levels(experiment, &cell, " | ");
        g_string_append_printf(text, "| %s%s%s |", levels, levels[0] ? " | " : "",
                        experiment_arm(experiment, arm)->name);
}

static void add_head(const Experiment *experiment, GString *text, const char *const *headings) {
        g_string_append_c(text, '|');
        for (guint i = 0; i < experiment->factors->len; i++)
                g_string_append_printf(text, " %s |", experiment_factor(experiment, i)->name);
        g_string_append(text, " arm |");
        for (size_t i = 0; headings[i]; i++)
                g_string_append_printf(text, " %s |", headings[i]);
        g_string_append(text, "\n|");
        for (guint i = 0; i <= experiment->factors->len; i++)
                g_string_append(text, "---|");
        for (size_t i = 0; headings[i]; i++)
                g_string_append(text, "--:|");
        g_string_append_c(text, '\n');
}

static void add_difference(const Experiment *experiment, const GPtrArray *cells, size_t arm,
                size_t combination, Metric metric, GString *text) {
        g_autofree double *values = group_values(experiment, cells, arm, combination, metric),
                          *others = group_values(experiment, cells, (size_t) experiment->baseline,
                                          combination, metric);
        size_t n = keep_finite(values, others, experiment->seeds->len);

        g_string_append_c(text, ' ');
        if (arm == (size_t) experiment->baseline) {
                g_string_append(text, "– | – |");
                return;
        }
        add_short(text, interquartile_mean(values, n) - interquartile_mean(others, n));
        g_string_append(text, " | ");
        add_interval(text, bootstrap_paired(values, others, n));
        g_string_append(text, " |");
}

/* How many finished cells of a group reached the target. */
static size_t n_reached(const Experiment *experiment, const GPtrArray *cells, size_t arm, size_t combination,
                Metric metric) {
        size_t n = 0;

        for (guint i = 0; i < cells->len; i++) {
                const Cell *cell = cells->pdata[i];

                if (cell->arm == arm && cell_combination(experiment, cell) == combination && cell->outcome &&
                                isfinite(outcome_metric(cell->outcome, metric, experiment->target)))
                        n++;
        }
        return n;
}

static void add_row(const Experiment *experiment, const GPtrArray *cells, size_t arm, size_t combination,
                Metric metric, GString *text) {
        g_autofree double *values = group_values(experiment, cells, arm, combination, metric);
        size_t n = keep_finite(values, NULL, experiment->seeds->len);

        add_group(experiment, arm, combination, text);
        g_string_append_printf(text, " %zu | ", n);
        if (metric_is_to_target(metric))
                g_string_append_printf(
                                text, "%zu | ", n_reached(experiment, cells, arm, combination, metric));
        add_short(text, mean(values, n));
        g_string_append(text, " | ");
        add_short(text, interquartile_mean(values, n));
        g_string_append(text, " | ");
        add_interval(text, bootstrap_interval(values, n));
        g_string_append(text, " |");
        if (experiment->baseline >= 0)
                add_difference(experiment, cells, arm, combination, metric, text);
        g_string_append_c(text, '\n');
}

static bool is_measured(const Experiment *experiment, const GPtrArray *cells, Metric metric) {
        for (guint i = 0; i < cells->len; i++) {
                const Cell *cell = cells->pdata[i];

                if (cell->outcome && isfinite(outcome_metric(cell->outcome, metric, experiment->target)))
                        return true;
        }
        return false;
}

static void add_metric(const Experiment *experiment, const GPtrArray *cells, Metric metric, GString *text) {
        const char *baseline =
                        experiment->baseline < 0
                                        ? NULL
                                        : experiment_arm(experiment, (size_t) experiment->baseline)->name;
        g_autofree char *difference = g_strdup_printf("IQM − that of %s", baseline ? baseline : "");
        const char *headings[] = { "n", "reached", "mean", "IQM", "95 % interval",
                baseline ? difference : NULL, "95 % interval", NULL };
        bool to_target = metric_is_to_target(metric);

        if (!is_measured(experiment, cells, metric))
                return;
        if (!to_target)
                memmove(&headings[1], &headings[2], sizeof(headings) - 2 * sizeof(headings[0]));
        g_string_append_printf(text, "\n## %s%s%s%s\n\n", metric_heading(metric),
                        is_money(metric) ? " (" : "", is_money(metric) ? cells_currency(cells) : "",
                        is_money(metric) ? ")" : "");
        if (to_target)
                g_string_append(text,
                                "A seed that ended before it reached the target counts with its cost or "
                                "time until then: where \"reached\" is less than n, the true figures "
                                "are "
                                "higher.\n\n");
        add_head(experiment, text, headings);
        for (size_t combination = 0; combination < experiment_n_combinations(experiment); combination++)
                for (size_t arm = 0; arm < experiment->arms->len; arm++)
                        add_row(experiment, cells, arm, combination, metric, text);
}

/* Why finished cells may lack a value of this metric, and advice. */
static const struct {
        Metric first, last;
        const char *reason;
} absences[] = {
        { METRIC_EVALUATION_LAST, METRIC_EVALUATION_AREA,
                        "nothing was evaluated; set Evaluation.Episodes= in [Set]" },
        { METRIC_RETURN_LAST, METRIC_RETURN_AREA,
                        "no training episode ended; set a larger Job.StopSteps= in [Set]" },
        { METRIC_COST_TO_TARGET, METRIC_TIME_TO_TARGET,
                        "no cell reached the target; set a larger Job.StopSteps= in [Set], or a lower "
                        "Target=" },
};

/* Lists the metrics that have no table, grouped by reason. */
static void add_absent(const Experiment *experiment, const GPtrArray *cells, GString *text) {
        bool any = false;

        for (size_t i = 0; i < G_N_ELEMENTS(absences); i++) {
                g_autoptr(GString) names = g_string_new(NULL);

                for (guint k = 0; k < experiment->metrics->len; k++) {
                        Metric metric = g_array_index(experiment->metrics, Metric, k);

                        if (metric >= absences[i].first && metric <= absences[i].last &&
                                        !is_measured(experiment, cells, metric))
                                g_string_append_printf(names, "%s%s", names->len > 0 ? ", " : "",
                                                metric_to_string(metric));
                }
                if (names->len == 0)
                        continue;
                g_string_append_printf(text, "%s* %s: %s\n", any ? "" : "\n## Without values\n\n",
                                names->str, absences[i].reason);
                any = true;
        }
}

static double total(const Experiment *experiment, const GPtrArray *cells, size_t arm, size_t combination,
                Metric metric) {
        g_autofree double *values = group_values(experiment, cells, arm, combination, metric);
        size_t n = keep_finite(values, NULL, experiment->seeds->len);

        return mean(values, n) * (double) n;
}

static void add_totals(const Experiment *experiment, const GPtrArray *cells, GString *text) {
        static const Metric shown[] = { METRIC_ACTOR_ROUNDS, METRIC_COST, METRIC_COST_PAPER, METRIC_TIME };
        g_autofree char *cost =
                        g_strdup_printf("cost, full without evaluations (%s)", cells_currency(cells));
        const char *headings[] = { "actor-rounds", cost, "cost, paper", "emulated s", NULL };

        g_string_append(text, "\n## Totals over all seeds\n\n");
        add_head(experiment, text, headings);
        for (size_t combination = 0; combination < experiment_n_combinations(experiment); combination++)
                for (size_t arm = 0; arm < experiment->arms->len; arm++) {
                        add_group(experiment, arm, combination, text);
                        for (size_t i = 0; i < G_N_ELEMENTS(shown); i++) {
                                g_string_append_c(text, ' ');
                                add_short(text, total(experiment, cells, arm, combination, shown[i]));
                                g_string_append(text, " |");
                        }
                        g_string_append_c(text, '\n');
                }
}

/* Lists the bill of a cell's scheduler, unless it is listed already: cells of one arm often share a
 * scheduler. */
static void add_scheduler(const Experiment *experiment, const Cell *cell, GPtrArray *seen, GString *text) {
        JsonObject *bill = scheduler_bill(cell);
        g_autoptr(GString) row = g_string_new(NULL);

        if (!bill)
                return;
        g_string_append_printf(row, "| %s | %s | %" G_GINT64_FORMAT " runs of %s | ",
                        experiment_arm(experiment, cell->arm)->name, cell->scheduler ? cell->scheduler : "",
                        json_object_get_int_member_with_default(bill, "episodes", 0),
                        json_object_get_string_member_with_default(bill, "job", ""));
        add_short(row, bill_total(bill, "full"));
        g_string_append(row, " | ");
        add_short(row, bill_total(bill, "paper"));
        g_string_append_printf(
                        row, " | %s |\n", json_object_get_string_member_with_default(bill, "currency", ""));
        if (g_ptr_array_find_with_equal_func(seen, row->str, g_str_equal, NULL))
                return;
        if (seen->len == 0)
                g_string_append(text,
                                "\n## Training of the schedulers\n\n"
                                "These schedulers were trained before the first cell ran. The cost of this "
                                "was paid once, and is not part of the costs above.\n\n"
                                "| arm | scheduler | trained by | full | paper | currency |\n"
                                "|---|---|---|--:|--:|---|\n");
        g_string_append(text, row->str);
        g_ptr_array_add(seen, g_strdup(row->str));
}

static void add_schedulers(const Experiment *experiment, const GPtrArray *cells, GString *text) {
        g_autoptr(GPtrArray) seen = g_ptr_array_new_with_free_func(g_free);

        for (size_t arm = 0; arm < experiment->arms->len; arm++)
                for (guint i = 0; i < cells->len; i++)
                        if (((Cell *) cells->pdata[i])->arm == arm)
                                add_scheduler(experiment, cells->pdata[i], seen, text);
}

static void add_failures(const GPtrArray *cells, GString *text) {
        bool any = false;

        for (guint i = 0; i < cells->len; i++) {
                const Cell *cell = cells->pdata[i];

                if (cell->state != CELL_FAILED)
                        continue;
                if (!any)
                        g_string_append(text, "\n## Failed\n\n");
                any = true;
                g_string_append_printf(text, "* %s: %s\n", cell->name, cell->fault);
        }
}

int report_write(const Experiment *experiment, const GPtrArray *cells, const char *directory) {
        g_autoptr(GString) text = g_string_new(NULL);
        guint n_done = 0;
        int r;

        r = tables_write(experiment, cells, directory);
        if (r < 0)
                return r;
        for (guint i = 0; i < cells->len; i++)
                n_done += ((Cell *) cells->pdata[i])->outcome != NULL;
        g_string_append_printf(text,
                        "# %s\n\n%u of %u cells are finished (%u seeds). IQM: interquartile mean over "
                        "seeds. Intervals: percentile bootstrap with %u resamples of the seeds, drawn in "
                        "pairs for differences (Agarwal et al., NeurIPS 2021).\n",
                        experiment->title, n_done, cells->len, experiment->seeds->len, RESAMPLES);
        if (!isnan(experiment->target)) {
                g_string_append(text, "The target is a return of ");
                add_short(text, experiment->target);
                g_string_append(text, ".\n");
        }
        for (guint i = 0; i < experiment->metrics->len; i++)
                add_metric(experiment, cells, g_array_index(experiment->metrics, Metric, i), text);
        if (n_done > 0)
                add_absent(experiment, cells, text);
        add_totals(experiment, cells, text);
        add_schedulers(experiment, cells, text);
        add_failures(cells, text);
        return result_file_write(directory, "summary.md", text->str, text->len);
}
