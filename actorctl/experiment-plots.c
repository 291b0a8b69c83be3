/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The pictures of an experiment: per round the median of the seeds with the quartiles around it, one panel for each combination of
 * levels; and what a return costs. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "actorctl/experiment.h"
#include "actorctl/plot.h"

/* Points of all curves together, so that a file stays below 100 kB. */
#define POINTS_MAX 2000u

static char *combination_title(const Experiment *experiment, size_t combination) {
        Cell cell = {};

        cell_set_combination(experiment, &cell, combination);
        return experiment_levels(experiment, &cell, ", ");
}

static Plot *make_plot(
                const Experiment *experiment, const char *what, const char *x_label, const char *y_label) {
        Plot *plot = plot_new(what, x_label, y_label);

        for (size_t i = 0; i < experiment->arms->len; i++)
                g_ptr_array_add(plot->legend, experiment_arm(experiment, i)->name);
        return plot;
}

/* The finished cells of a group; of Series. */
static GPtrArray *group_series(
                const Experiment *experiment, const GPtrArray *cells, size_t arm, size_t combination) {
        GPtrArray *found = g_ptr_array_new();

        for (guint i = 0; i < cells->len; i++) {
                const Cell *cell = cells->pdata[i];

                if (cell->outcome && cell->arm == arm && cell_combination(experiment, cell) == combination)
                        g_ptr_array_add(found, &cell->outcome->series);
        }
        return found;
}

static const Series *longest(const GPtrArray *group) {
        const Series *best = NULL;

        for (guint i = 0; i < group->len; i++) {
                const Series *series = group->pdata[i];

                if (!best || series->n_rounds > best->n_rounds)
                        best = series;
        }
        return best;
}

/* The value in a round; NaN beyond the cell's last. Rows ascend. */
static double value_at(const Series *series, const char *name, double round) {
        const double *rounds = series_column(series, "round"), *column = series_column(series, name);
        size_t low = 0, high = series->n_rounds;

        if (!rounds || !column || high == 0 || rounds[high - 1] < round)
                return NAN;
        while (low + 1 < high) {
                size_t middle = (low + high) / 2;

                *(rounds[middle] <= round ? &low : &high) = middle;
        }
        return column[low];
}

/* Where fewer than half of the cells still have a value, a median would be of the survivors. */
static void curve_point(PlotCurve *curve, const GPtrArray *group, const char *name, double round) {
        g_autofree double *values = g_new(double, group->len);
        size_t n = 0;

        for (guint i = 0; i < group->len; i++) {
                double value = value_at(group->pdata[i], name, round);

                if (isfinite(value))
                        values[n++] = value;
        }
        if (n * 2 < group->len || n == 0)
                return;
        curve->x[curve->n] = round;
        curve->y[curve->n] = quantile(values, n, 0.5);
        curve->low[curve->n] = quantile(values, n, 0.25);
        curve->high[curve->n] = quantile(values, n, 0.75);
        curve->n++;
}

static void add_curve(PlotPanel *panel, const GPtrArray *group, size_t arm, const char *name, size_t most) {
        const Series *grid = longest(group);
        const double *rounds = grid ? series_column(grid, "round") : NULL;
        size_t n = rounds ? MIN(grid->n_rounds, most) : 0;
        PlotCurve curve = { .series = arm };

        if (n == 0)
                return;
        curve.x = g_new(double, n);
        curve.y = g_new(double, n);
        curve.low = g_new(double, n);
        curve.high = g_new(double, n);
        for (size_t i = 0; i < n; i++)
                curve_point(&curve, group, name, rounds[n > 1 ? i * (grid->n_rounds - 1) / (n - 1) : 0]);
        g_array_append_val(panel->curves, curve);
}

static int write_plot(const Plot *plot, const char *directory, const char *name) {
        g_autofree char *text = NULL, *path = g_build_filename(directory, name, NULL);
        size_t n;

        if (!plot_has_data(plot)) {
                /* One of an earlier definition would be wrong. */
                (void) unlink(path);
                return 0;
        }
        text = plot_to_svg(plot, &n);
        return result_file_write(directory, name, text, n);
}

static int write_rounds_plot(const Experiment *experiment, const GPtrArray *cells, const char *directory,
                const char *file, const char *column, const char *label) {
        g_autofree char *title = g_strdup_printf("%s: %s", experiment->title, label);
        g_autoptr(Plot) plot = make_plot(experiment, title, "round", label);
        size_t n = MIN(experiment_n_combinations(experiment), PLOT_PANELS_MAX);

        for (size_t combination = 0; combination < n; combination++) {
                g_autofree char *name = combination_title(experiment, combination);
                PlotPanel *panel = plot_add_panel(plot, name);

                for (size_t arm = 0; arm < experiment->arms->len; arm++) {
                        g_autoptr(GPtrArray) group = group_series(experiment, cells, arm, combination);

                        add_curve(panel, group, arm, column,
                                        MAX(POINTS_MAX / (n * experiment->arms->len), 10));
                }
        }
        return write_plot(plot, directory, file);
}

static size_t keep_pairs(double *x, double *y, size_t n) {
        size_t kept = 0;

        for (size_t i = 0; i < n; i++)
                if (isfinite(x[i]) && isfinite(y[i])) {
                        x[kept] = x[i];
                        y[kept++] = y[i];
                }
        return kept;
}

static void add_group_points(const Experiment *experiment, const GPtrArray *cells, PlotPanel *panel,
                size_t arm, size_t combination, Metric metric) {
        g_autofree double *x = group_values(experiment, cells, arm, combination, METRIC_COST),
                          *y = group_values(experiment, cells, arm, combination, metric);
        size_t n = keep_pairs(x, y, experiment->seeds->len);
        PlotPoint point = { .series = arm };

        for (size_t i = 0; i < n && i < 50; i++) {
                PlotPoint one = { .series = arm, .x = x[i], .y = y[i], .faint = true };

                one.x_bar = one.y_bar = (Interval){ NAN, NAN };
                g_array_append_val(panel->points, one);
        }
        point.x = interquartile_mean(x, n);
        point.y = interquartile_mean(y, n);
        point.x_bar = bootstrap_interval(x, n);
        point.y_bar = bootstrap_interval(y, n);
        if (n > 0)
                g_array_append_val(panel->points, point);
}

static int compare_costs(const void *a, const void *b) {
        const PlotPoint *p = a, *q = b;

        return (p->x > q->x) - (p->x < q->x);
}

/* Groups that no other beats in both. */
static void add_front(PlotPanel *panel) {
        g_autoptr(GArray) sorted = g_array_new(FALSE, FALSE, sizeof(PlotPoint));
        double best = -INFINITY;

        for (guint i = 0; i < panel->points->len; i++)
                if (!g_array_index(panel->points, PlotPoint, i).faint)
                        g_array_append_val(sorted, g_array_index(panel->points, PlotPoint, i));
        g_array_sort(sorted, compare_costs);
        for (guint i = 0; i < sorted->len; i++) {
                PlotPoint point = g_array_index(sorted, PlotPoint, i);

                if (point.y <= best)
                        continue;
                best = point.y;
                g_array_append_val(panel->front, point);
        }
}

static bool any_evaluation(const GPtrArray *cells) {
        for (guint i = 0; i < cells->len; i++) {
                const Cell *cell = cells->pdata[i];

                if (cell->outcome && isfinite(outcome_metric(cell->outcome, METRIC_EVALUATION_LAST, NAN)))
                        return true;
        }
        return false;
}

static int write_pareto(const Experiment *experiment, const GPtrArray *cells, const char *directory) {
        Metric metric = any_evaluation(cells) ? METRIC_EVALUATION_LAST5 : METRIC_RETURN_LAST5;
        g_autofree char *title = g_strdup_printf("%s: return against cost", experiment->title),
                        *cost = g_strdup_printf(
                                        "%s, in %s", metric_heading(METRIC_COST), cells_currency(cells));
        g_autoptr(Plot) plot = make_plot(experiment, title, cost, metric_heading(metric));

        for (size_t i = 0; i < MIN(experiment_n_combinations(experiment), PLOT_PANELS_MAX); i++) {
                g_autofree char *name = combination_title(experiment, i);
                PlotPanel *panel = plot_add_panel(plot, name);

                for (size_t arm = 0; arm < experiment->arms->len; arm++)
                        add_group_points(experiment, cells, panel, arm, i, metric);
                add_front(panel);
        }
        return write_plot(plot, directory, "pareto.svg");
}

int plots_write(const Experiment *experiment, const GPtrArray *cells, const char *directory) {
        bool evaluated = any_evaluation(cells);
        g_autofree char *cost = g_strdup_printf("cost of training so far in %s", cells_currency(cells));
        const struct {
                const char *file, *column, *label;
        } rows[] = {
                { "return.svg", evaluated ? "evaluation_mean" : "return_round",
                                evaluated ? "evaluation return" : "training return" },
                { "actors.svg", "actors", "actors" },
                { "cost.svg", "cost_training", cost },
                { "curvature.svg", "curvature_ratio", "curvature ratio R" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                int r = write_rounds_plot(
                                experiment, cells, directory, rows[i].file, rows[i].column, rows[i].label);

                if (r < 0)
                        return r;
        }
        return write_pareto(experiment, cells, directory);
}
