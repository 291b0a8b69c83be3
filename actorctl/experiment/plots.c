/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The plots of an experiment. Most have curves of the seeds' median with the quartiles around it. pareto.svg
 * shows the cost of a return. There is a panel for each combination of levels. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "actorctl/experiment/experiment.h"
#include "actorctl/experiment/plot.h"

/* The curves share this many points, so that a file stays below 100 kB. A curve may have ten in any case. */
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

/* The columns that a curve shows. stays: after a seed's last round, its last value still counts. */
typedef struct Picture {
        const char *file, *what, *x, *x_label, *y, *y_label;
        bool stays;
} Picture;

/* The points of one cell for which both columns are known. x never falls. */
typedef struct Trace {
        size_t n;
        double *x, *y;
} Trace;

static void trace_free(gpointer data) {
        Trace *trace = data;

        g_free(trace->x);
        g_free(trace->y);
        g_free(trace);
}

/* The value of a column in a round. The last value of cost_training is taken from the bill, which includes
 * shutdown, so that a curve ends with the number in the tables. */
static double figure(const Outcome *outcome, const char *name, const double *column, size_t round) {
        double bill = NAN;

        if (round + 1 == outcome->series.n_rounds && strcmp(name, "cost_training") == 0)
                bill = outcome_metric(outcome, METRIC_COST, NAN);
        return isfinite(bill) ? bill : column[round];
}

static Trace *trace_new(const Outcome *outcome, const Picture *picture) {
        const Series *series = &outcome->series;
        const double *x = series_column(series, picture->x), *y = series_column(series, picture->y);
        Trace *trace = g_new0(Trace, 1);

        trace->x = g_new(double, series->n_rounds);
        trace->y = g_new(double, series->n_rounds);
        for (size_t i = 0; x && y && i < series->n_rounds; i++) {
                double at = figure(outcome, picture->x, x, i), value = figure(outcome, picture->y, y, i);

                if (!isfinite(at) || !isfinite(value))
                        continue;
                trace->x[trace->n] = trace->n > 0 ? MAX(at, trace->x[trace->n - 1]) : at;
                trace->y[trace->n++] = value;
        }
        return trace;
}

/* The Traces of a group's finished cells. */
static GPtrArray *group_traces(const Experiment *experiment, const GPtrArray *cells, size_t arm,
                size_t combination, const Picture *picture) {
        GPtrArray *found = g_ptr_array_new_with_free_func(trace_free);

        for (guint i = 0; i < cells->len; i++) {
                const Cell *cell = cells->pdata[i];

                if (cell->outcome && cell->arm == arm && cell_combination(experiment, cell) == combination)
                        g_ptr_array_add(found, trace_new(cell->outcome, picture));
        }
        return found;
}

/* The value at x, interpolated between two rounds. NaN: x is before the first round, or after the last one.
 * stays: after the last round, the function returns the last round's value instead of NaN. */
static double trace_at(const Trace *trace, double x, bool stays) {
        size_t low = 0, high = trace->n;

        if (trace->n == 0 || x < trace->x[0] || (!stays && x > trace->x[trace->n - 1]))
                return NAN;
        while (low + 1 < high) {
                size_t middle = (low + high) / 2;

                *(trace->x[middle] <= x ? &low : &high) = middle;
        }
        if (low + 1 == trace->n)
                return trace->y[low];
        return trace->y[low] + (trace->y[low + 1] - trace->y[low]) * (x - trace->x[low]) /
                                               (trace->x[low + 1] - trace->x[low]);
}

/* If fewer than half of the cells have a value, no median is shown: it would be a median of the survivors
 * only. */
static void curve_point(PlotCurve *curve, const GPtrArray *group, double x, bool stays) {
        g_autofree double *values = g_new(double, group->len);
        size_t n = 0;

        for (guint i = 0; i < group->len; i++) {
                double value = trace_at(group->pdata[i], x, stays);

                if (isfinite(value))
                        values[n++] = value;
        }
        if (n * 2 < group->len || n == 0)
                return;
        curve->x[curve->n] = x;
        curve->y[curve->n] = quantile(values, n, 0.5);
        curve->low[curve->n] = quantile(values, n, 0.25);
        curve->high[curve->n] = quantile(values, n, 0.75);
        curve->n++;
}

/* All values of x in the traces, as doubles in ascending order without repetition. */
static GArray *group_places(const GPtrArray *group) {
        GArray *places = g_array_new(FALSE, FALSE, sizeof(double));
        guint n = 0;

        for (guint i = 0; i < group->len; i++) {
                const Trace *trace = group->pdata[i];

                if (trace->n > 0)
                        g_array_append_vals(places, trace->x, (guint) trace->n);
        }
        g_array_sort(places, compare_doubles);
        for (guint i = 0; i < places->len; i++)
                if (n == 0 || g_array_index(places, double, i) > g_array_index(places, double, n - 1))
                        g_array_index(places, double, n++) = g_array_index(places, double, i);
        g_array_set_size(places, n);
        return places;
}

static void add_curve(PlotPanel *panel, const GPtrArray *group, size_t arm, bool stays, size_t most) {
        g_autoptr(GArray) places = group_places(group);
        size_t n = MIN(places->len, most);
        PlotCurve curve = { .series = arm };

        if (n == 0)
                return;
        curve.x = g_new(double, n);
        curve.y = g_new(double, n);
        curve.low = g_new(double, n);
        curve.high = g_new(double, n);
        for (size_t i = 0; i < n; i++)
                curve_point(&curve, group,
                                g_array_index(places, double, n > 1 ? i * (places->len - 1) / (n - 1) : 0),
                                stays);
        g_array_append_val(panel->curves, curve);
}

static void plot_file_free(gpointer data) {
        PlotFile *file = data;

        g_free(file->svg);
        g_free(file);
}

static void keep_plot(GPtrArray *files, const Plot *plot, const char *name) {
        PlotFile *file = g_new0(PlotFile, 1);

        file->name = name;
        if (plot_has_data(plot))
                file->svg = plot_to_svg(plot, &file->n);
        g_ptr_array_add(files, file);
}

static void draw_picture(const Experiment *experiment, const GPtrArray *cells, GPtrArray *files,
                const Picture *picture) {
        g_autofree char *title = g_strdup_printf("%s: %s", experiment->title, picture->what);
        g_autoptr(Plot) plot = make_plot(experiment, title, picture->x_label, picture->y_label);
        size_t n = MIN(experiment_n_combinations(experiment), PLOT_PANELS_MAX);

        plot->note = picture->stays ? "Median of the seeds and quartiles. A seed that has ended keeps its "
                                      "last value."
                                    : "Median and quartiles of the seeds that still train; ends where fewer "
                                      "than half do.";
        for (size_t combination = 0; combination < n; combination++) {
                g_autofree char *name = combination_title(experiment, combination);
                PlotPanel *panel = plot_add_panel(plot, name);

                for (size_t arm = 0; arm < experiment->arms->len; arm++) {
                        g_autoptr(GPtrArray) group =
                                        group_traces(experiment, cells, arm, combination, picture);

                        add_curve(panel, group, arm, picture->stays,
                                        MAX(POINTS_MAX / (n * experiment->arms->len), 10));
                }
        }
        keep_plot(files, plot, picture->file);
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

/* Adds the Pareto front: groups for which no cheaper group has as high a return. */
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

static void draw_pareto(const Experiment *experiment, const GPtrArray *cells, GPtrArray *files) {
        Metric metric = any_evaluation(cells) ? METRIC_EVALUATION_LAST5 : METRIC_RETURN_LAST5;
        g_autofree char *title = g_strdup_printf("%s: return against cost", experiment->title),
                        *cost = g_strdup_printf(
                                        "%s, in %s", metric_heading(METRIC_COST), cells_currency(cells));
        g_autoptr(Plot) plot = make_plot(experiment, title, cost, metric_heading(metric));

        plot->note = "Cells, and each arm's IQM with 95 % intervals; "
                     "the line joins arms that no other arm beats.";
        for (size_t i = 0; i < MIN(experiment_n_combinations(experiment), PLOT_PANELS_MAX); i++) {
                g_autofree char *name = combination_title(experiment, i);
                PlotPanel *panel = plot_add_panel(plot, name);

                for (size_t arm = 0; arm < experiment->arms->len; arm++)
                        add_group_points(experiment, cells, panel, arm, i, metric);
                add_front(panel);
        }
        keep_plot(files, plot, "pareto.svg");
}

/* For returns and costs the x axis is steps, money or time, not rounds, since a scheduler that uses many
 * actors has large rounds. */
GPtrArray *plots_draw(const Experiment *experiment, const GPtrArray *cells) {
        GPtrArray *files = g_ptr_array_new_with_free_func(plot_file_free);
        bool evaluated = any_evaluation(cells);
        const char *column = evaluated ? "evaluation_mean" : "return_round",
                   *label = evaluated ? "evaluation return" : "training return";
        g_autofree char *cost = g_strdup_printf("cost of training in %s", cells_currency(cells)),
                        *by_cost = g_strconcat(label, " by cost", NULL),
                        *by_time = g_strconcat(label, " by time", NULL);
        const Picture pictures[] = {
                { "return.svg", label, "env_steps", "environment steps", column, label, true },
                { "return-cost.svg", by_cost, "cost_training", cost, column, label, true },
                { "return-time.svg", by_time, "emulated_s", "emulated seconds", column, label, true },
                { "cost.svg", "cost", "env_steps", "environment steps", "cost_training", cost, true },
                { "actors.svg", "actors", "round", "round", "actors", "actors", false },
                { "curvature.svg", "curvature", "round", "round", "curvature_ratio", "curvature ratio R",
                                false },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(pictures); i++)
                draw_picture(experiment, cells, files, &pictures[i]);
        draw_pareto(experiment, cells, files);
        return files;
}

int plots_write(const Experiment *experiment, const GPtrArray *cells, const char *directory) {
        g_autoptr(GPtrArray) files = plots_draw(experiment, cells);

        for (guint i = 0; i < files->len; i++) {
                const PlotFile *file = files->pdata[i];
                g_autofree char *path = g_build_filename(directory, file->name, NULL);
                int r;

                if (!file->svg) {
                        /* A plot from an earlier definition would be wrong, so it is removed. */
                        (void) unlink(path);
                        continue;
                }
                r = result_file_write(directory, file->name, file->svg, file->n);
                if (r < 0)
                        return r;
        }
        return 0;
}
