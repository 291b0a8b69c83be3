/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An experiment as a chapter of a report. */
#include <inttypes.h>
#include <math.h>

#include "actorctl/experiment/numbers.h"
#include "actorctl/experiment/sweep.h"
#include "actorctl/report/report.h"

static void add(GPtrArray *table, const char *text) {
        g_ptr_array_add(table, g_strdup(text));
}

static void add_figure(GPtrArray *table, double value) {
        GString *text = g_string_new(NULL);

        add_short(text, value);
        g_ptr_array_add(table, g_string_free(text, FALSE));
}

static void add_trial(const Experiment *experiment, const Trial *trial, GPtrArray *table) {
        add(table, experiment_arm(experiment, trial->arm)->name);
        add_figure(table, trial->value);
        for (guint i = 0; i < experiment->sweep->ranges->len; i++)
                add(table, trial_value(experiment, trial->arm, i));
        g_ptr_array_add(table, g_strdup_printf("%zu", trial->n_rungs));
        add_figure(table, trial->cost > 0 ? trial->cost : NAN);
        add(table, trial_state_to_string(trial->state));
}

static void add_trials(
                Page *page, const Experiment *experiment, const GPtrArray *cells, const GArray *trials) {
        const Sweep *sweep = experiment->sweep;
        g_autoptr(GPtrArray) table = g_ptr_array_new_with_free_func(g_free);

        add(table, "trial");
        add(table, metric_to_string(sweep->metric));
        for (guint i = 0; i < sweep->ranges->len; i++)
                add(table, sweep_range(sweep, i)->key);
        add(table, "rungs");
        g_ptr_array_add(table, g_strdup_printf("cost in %s", cells_currency(cells)));
        add(table, "state");
        for (guint i = 0; i < trials->len; i++)
                add_trial(experiment, &g_array_index(trials, Trial, i), table);
        page_table(page, table, sweep->ranges->len + 5, NULL);
}

static void add_faults(Page *page, const Experiment *experiment, const GArray *trials) {
        for (guint i = 0; i < trials->len; i++) {
                const Trial *trial = &g_array_index(trials, Trial, i);
                g_autofree char *line = NULL;

                if (!trial->fault)
                        continue;
                line = g_strdup_printf(
                                "%s failed: %s", experiment_arm(experiment, trial->arm)->name, trial->fault);
                page_item(page, line);
        }
}

static void report_sweep(Page *page, const Experiment *experiment, const GPtrArray *cells) {
        g_autoptr(GArray) trials = sweep_trials(experiment, cells);
        g_autofree char *described = sweep_describe(experiment),
                        *spent = sweep_spending(experiment, cells, trials), *picture = NULL, *sets = NULL,
                        *command = NULL;
        size_t n;

        page_paragraph(page, described);
        page_paragraph(page, spent);
        picture = sweep_picture(experiment, cells, &n);
        page_svg(page, picture);
        page_heading(page, 2, "Trials, the best first");
        add_trials(page, experiment, cells, trials);
        add_faults(page, experiment, trials);
        if (!trials_have_best(trials))
                return;
        sets = trial_sets(experiment, &g_array_index(trials, Trial, 0));
        command = g_strdup_printf("actorctl run %s %s", experiment->job_file, sets);
        page_fold(page, "A job with the values of the best trial", command);
}

static void add_group(const Experiment *experiment, const GPtrArray *cells, size_t arm, size_t combination,
                Metric metric, GPtrArray *table) {
        g_autofree double *values = group_values(experiment, cells, arm, combination, metric);
        Cell cell = { .arm = arm };
        g_autofree char *levels = NULL;
        GString *interval = g_string_new(NULL);
        size_t n = 0;

        cell_set_combination(experiment, &cell, combination);
        levels = experiment_levels(experiment, &cell, ", ");
        for (guint i = 0; i < experiment->seeds->len; i++)
                if (isfinite(values[i]))
                        values[n++] = values[i];
        g_ptr_array_add(table, g_strdup_printf("%s%s%s", levels, levels[0] ? ", " : "",
                                               experiment_arm(experiment, arm)->name));
        g_ptr_array_add(table, g_strdup_printf("%zu", n));
        add_figure(table, mean(values, n));
        add_figure(table, interquartile_mean(values, n));
        add_interval(interval, bootstrap_interval(values, n));
        g_ptr_array_add(table, g_string_free(interval, FALSE));
}

static void report_metric(Page *page, const Experiment *experiment, const GPtrArray *cells, Metric metric) {
        g_autoptr(GPtrArray) table = g_ptr_array_new_with_free_func(g_free);
        static const char *const heads[] = { "arm", "n", "mean", "IQM", "95 % interval" };

        page_heading(page, 2, metric_heading(metric));
        for (size_t i = 0; i < G_N_ELEMENTS(heads); i++)
                add(table, heads[i]);
        for (size_t combination = 0; combination < experiment_n_combinations(experiment); combination++)
                for (size_t arm = 0; arm < experiment->arms->len; arm++)
                        add_group(experiment, cells, arm, combination, metric, table);
        page_table(page, table, G_N_ELEMENTS(heads), NULL);
}

void report_experiment(Page *page, const Experiment *experiment, const GPtrArray *cells) {
        g_autoptr(GPtrArray) plots = NULL;

        page_heading(page, 1, experiment->title);
        if (experiment->sweep) {
                report_sweep(page, experiment, cells);
                return;
        }
        for (guint i = 0; i < experiment->metrics->len; i++)
                report_metric(page, experiment, cells, g_array_index(experiment->metrics, Metric, i));
        plots = plots_draw(experiment, cells);
        for (guint i = 0; i < plots->len; i++)
                if (((const PlotFile *) plots->pdata[i])->svg)
                        page_svg(page, ((const PlotFile *) plots->pdata[i])->svg);
}
