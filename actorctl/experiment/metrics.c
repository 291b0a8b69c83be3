/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The metrics of a cell, computed from its rounds and its bill. */
#include <math.h>
#include <string.h>

#include "actorctl/experiment/experiment.h"
#include "actorctl/experiment/statistics.h"

static const struct {
        const char *word, *heading;
        int sense;
} metrics[] = {
#define X(name, word, heading, sense) { word, heading, sense },
        METRICS(X)
#undef X
};

const char *metric_to_string(Metric metric) {
        return metric >= 0 && metric < _METRIC_MAX ? metrics[metric].word : NULL;
}

const char *metric_heading(Metric metric) {
        return metric >= 0 && metric < _METRIC_MAX ? metrics[metric].heading : NULL;
}

int metric_sense(Metric metric) {
        return metrics[metric].sense;
}

Metric metric_from_string(const char *word) {
        for (Metric i = 0; i < _METRIC_MAX; i++)
                if (strcmp(metrics[i].word, word) == 0)
                        return i;
        return _METRIC_INVALID;
}

const double *series_column(const Series *series, const char *name) {
        for (guint i = 0; series->names && i < series->names->len; i++)
                if (strcmp(series->names->pdata[i], name) == 0)
                        return series->values->pdata[i];
        return NULL;
}

double *series_add(Series *series, const char *name) {
        double *column = g_new(double, MAX(series->n_rounds, 1));

        if (!series->names) {
                series->names = g_ptr_array_new_with_free_func(g_free);
                series->values = g_ptr_array_new_with_free_func(g_free);
        }
        for (size_t i = 0; i < series->n_rounds; i++)
                column[i] = NAN;
        g_ptr_array_add(series->names, g_strdup(name));
        g_ptr_array_add(series->values, column);
        return column;
}

void series_complete(Series *series) {
        const double *full = series_column(series, "cost_full"),
                     *evaluation = series_column(series, "cost_evaluation");
        double *training;

        if (!full || series_column(series, "cost_training"))
                return;
        training = series_add(series, "cost_training");
        for (size_t i = 0; i < series->n_rounds; i++)
                training[i] = full[i] - (evaluation ? evaluation[i] : 0);
}

/* Mean of the column's last n finite values. */
static double last(const Series *series, const char *name, size_t n) {
        const double *column = series_column(series, name);
        double values[8];
        size_t found = 0;

        g_assert(n <= G_N_ELEMENTS(values));

        for (size_t i = series->n_rounds; column && i-- > 0 && found < n;)
                if (isfinite(column[i]))
                        values[found++] = column[i];
        return mean(values, found);
}

/* The area under the curve over environment steps (by trapezoids), divided by the steps. So a long round
 * counts more than a short one. */
static double area(const Series *series, const char *name) {
        const double *y = series_column(series, name), *x = series_column(series, "env_steps");
        double sum = 0, before_x = NAN, before_y = NAN, first_x = NAN;

        if (!x || !y)
                return NAN;
        for (size_t i = 0; i < series->n_rounds; i++) {
                if (!isfinite(y[i]))
                        continue;
                if (isfinite(before_x))
                        sum += (x[i] - before_x) * (y[i] + before_y) / 2;
                else
                        first_x = x[i];
                before_x = x[i];
                before_y = y[i];
        }
        return before_x > first_x ? sum / (before_x - first_x) : before_y;
}

/* The value of a column at the end of the first round in which the return reaches the target. The return is
 * that of evaluations if there are any, otherwise the mean of the last 100 episodes. */
static double at_target(const Series *series, const char *name, double target) {
        const double *column = series_column(series, name),
                     *returns = series_column(series, "evaluation_mean");

        if (!returns || isnan(last(series, "evaluation_mean", 1)))
                returns = series_column(series, "return_mean");
        for (size_t i = 0; column && returns && i < series->n_rounds; i++)
                if (returns[i] >= target)
                        return column[i];
        return NAN;
}

static double sum(const Series *series, const char *name) {
        const double *column = series_column(series, name);
        double total = 0;

        for (size_t i = 0; column && i < series->n_rounds; i++)
                total += column[i];
        return total;
}

static double member(const Outcome *outcome, const char *name) {
        JsonObject *object = json_node_get_object(outcome->result);
        JsonNode *node = json_object_get_member(object, name);

        return node && JSON_NODE_HOLDS_VALUE(node) ? json_node_get_double(node) : NAN;
}

static double cost(const Outcome *outcome, const char *name) {
        JsonObject *object = json_node_get_object(outcome->result);
        JsonNode *node = json_object_get_member(object, "cost");

        return node && JSON_NODE_HOLDS_OBJECT(node) ? json_object_get_double_member_with_default(
                                                                      json_node_get_object(node), name, NAN)
                                                    : NAN;
}

double outcome_full(const Outcome *outcome) {
        return cost(outcome, "full");
}

/* The cost of training, from the bill, since only the bill includes start-up and shutdown. Evaluations are
 * subtracted, since they serve the measurement and not the training. */
static double training_cost(const Outcome *outcome) {
        double evaluation = last(&outcome->series, "cost_evaluation", 1);

        return cost(outcome, "full") - (isfinite(evaluation) ? evaluation : 0);
}

double outcome_metric(const Outcome *outcome, Metric metric, double target) {
        const Series *series = &outcome->series;

        switch (metric) {
        case METRIC_EVALUATION_LAST: return last(series, "evaluation_mean", 1);
        case METRIC_EVALUATION_LAST5: return last(series, "evaluation_mean", 5);
        case METRIC_EVALUATION_AREA: return area(series, "evaluation_mean");
        case METRIC_RETURN_LAST: return last(series, "return_round", 1);
        case METRIC_RETURN_LAST5: return last(series, "return_round", 5);
        case METRIC_RETURN_AREA: return area(series, "return_round");
        case METRIC_COST: return training_cost(outcome);
        case METRIC_COST_PAPER: return cost(outcome, "paper");
        case METRIC_TIME: return member(outcome, "emulated_s");
        case METRIC_COST_TO_TARGET: return at_target(series, "cost_training", target);
        case METRIC_TIME_TO_TARGET: return at_target(series, "emulated_s", target);
        case METRIC_ACTOR_ROUNDS: return sum(series, "actors");
        case _METRIC_MAX:
        case _METRIC_INVALID: break;
        }
        return NAN;
}

/* The last value of a column. */
static double at_end(const Series *series, const char *name) {
        const double *column = series_column(series, name);

        return column && series->n_rounds > 0 ? column[series->n_rounds - 1] : NAN;
}

bool metric_is_to_target(Metric metric) {
        return metric == METRIC_COST_TO_TARGET || metric == METRIC_TIME_TO_TARGET;
}

double outcome_restricted(const Outcome *outcome, Metric metric, double target) {
        double value = outcome_metric(outcome, metric, target);

        if (!metric_is_to_target(metric) || isfinite(value))
                return value;
        return at_end(&outcome->series, metric == METRIC_COST_TO_TARGET ? "cost_training" : "emulated_s");
}
