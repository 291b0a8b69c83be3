/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The picture of a sweep: the values that were drawn for each trial, and its result. */
#include <math.h>
#include <string.h>

#include "actorctl/experiment/numbers.h"
#include "actorctl/experiment/parallel.h"
#include "actorctl/experiment/plot.h"
#include "actorctl/experiment/sweep.h"

static char *short_number(double value) {
        g_autoptr(GString) text = g_string_new(NULL);

        add_short(text, value);
        return g_string_free(g_steal_pointer(&text), FALSE);
}

static void add_range_axis(Parallel *parallel, const Range *range) {
        guint n = g_strv_length(range->words);
        ParallelAxis axis = { .label = g_strdup(range->key), .log = range->kind == RANGE_LOG };

        if (range->kind == RANGE_CHOICE) {
                axis.words = range->words;
                axis.high = n - 1;
        } else {
                axis.low = range->low;
                axis.high = range->high;
                axis.low_text = g_strdup(range->words[0]);
                axis.high_text = g_strdup(range->words[1]);
        }
        g_array_append_val(parallel->axes, axis);
}

/* Adds the axis of the metric, with better values to the right. */
static void add_metric_axis(Parallel *parallel, const Experiment *experiment, const GArray *trials) {
        Metric metric = experiment->sweep->metric;
        ParallelAxis axis = {
                .label = g_strdup(metric_heading(metric)), .low = INFINITY, .high = -INFINITY
        };

        for (guint i = 0; i < trials->len; i++) {
                double value = g_array_index(trials, Trial, i).value;

                axis.low = isnan(value) ? axis.low : MIN(axis.low, value);
                axis.high = isnan(value) ? axis.high : MAX(axis.high, value);
        }
        if (!isfinite(axis.low))
                axis.low = axis.high = 0;
        if (metric_sense(metric) < 0) {
                double low = axis.low;

                axis.low = axis.high;
                axis.high = low;
        }
        axis.low_text = short_number(axis.low);
        axis.high_text = short_number(axis.high);
        g_array_append_val(parallel->axes, axis);
}

static double range_value(const Range *range, const char *text) {
        for (guint i = 0; range->kind == RANGE_CHOICE && range->words[i]; i++)
                if (strcmp(range->words[i], text) == 0)
                        return i;
        return g_ascii_strtod(text, NULL);
}

static void add_trial(Parallel *parallel, const Experiment *experiment, const GArray *trials, guint place) {
        const Trial *trial = &g_array_index(trials, Trial, place);
        guint n = experiment->sweep->ranges->len;
        ParallelLine line = {
                .values = g_new(double, n + 1),
                .series = trial->n_rungs > 0 ? trial->n_rungs - 1 : 0,
                .strength = 1 - (double) place / trials->len,
                .best = place == 0 && trials_have_best(trials),
        };

        for (guint i = 0; i < n; i++)
                line.values[i] = range_value(
                                sweep_range(experiment->sweep, i), trial_value(experiment, trial->arm, i));
        line.values[n] = trial->value;
        g_array_append_val(parallel->lines, line);
}

char *sweep_picture(const Experiment *experiment, const GPtrArray *cells, size_t *ret_n) {
        const Sweep *sweep = experiment->sweep;
        g_autoptr(GArray) trials = sweep_trials(experiment, cells);
        g_autoptr(Parallel) parallel = parallel_new(experiment->title);

        g_ptr_array_add(parallel->notes,
                        g_strdup(trials_have_best(trials)
                                                        ? "A line is a trial: the stronger, the better; the "
                                                          "best is thick."
                                                        : "A line is a trial. None has a value."));
        if (sweep->n_rungs > 1)
                g_ptr_array_add(parallel->notes, g_strdup("Its colour is the last rung that it finished."));
        for (size_t i = 0; sweep->n_rungs > 1 && i < sweep->n_rungs; i++)
                g_ptr_array_add(parallel->legend, g_strdup_printf("rung %zu", i + 1));
        for (guint i = 0; i < sweep->ranges->len; i++)
                add_range_axis(parallel, sweep_range(sweep, i));
        add_metric_axis(parallel, experiment, trials);
        for (guint i = trials->len; i-- > 0;) {
                const Trial *trial = &g_array_index(trials, Trial, i);

                if (trial->state != TRIAL_OPEN && (trial->n_rungs > 0 || trial->state == TRIAL_FAILED))
                        add_trial(parallel, experiment, trials, i);
        }
        return parallel_to_svg(parallel, ret_n);
}
