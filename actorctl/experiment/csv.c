/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The tables of an experiment that other programs read: cells.csv and rounds.csv. */
#include <math.h>
#include <string.h>

#include "actorctl/experiment/numbers.h"
#include "actorctl/experiment/sweep.h"

static void add_key_names(const Experiment *experiment, GString *text) {
        g_string_append(text, "arm,");
        for (guint i = 0; i < experiment->factors->len; i++)
                g_string_append_printf(text, "%s,", experiment_factor(experiment, i)->name);
        g_string_append(text, "seed");
        for (guint i = 0; experiment->sweep && i < experiment->sweep->ranges->len; i++)
                g_string_append_printf(text, ",%s", sweep_range(experiment->sweep, i)->key);
}

/* Adds a value that a sweep has drawn. A value with several words may have commas or quotes. */
static void add_value(GString *text, const char *value) {
        g_autoptr(GString) quoted = g_string_new(value);

        (void) g_string_replace(quoted, "\"", "\"\"", 0);
        if (strpbrk(value, ",\""))
                g_string_append_printf(text, ",\"%s\"", quoted->str);
        else
                g_string_append_printf(text, ",%s", value);
}

static void add_keys(const Experiment *experiment, const Cell *cell, GString *text) {
        g_string_append_printf(text, "%s,", experiment_arm(experiment, cell->arm)->name);
        for (guint i = 0; i < experiment->factors->len; i++)
                g_string_append_printf(text, "%s,", experiment_level(experiment, cell, i)->name);
        g_string_append_printf(text, "%" G_GUINT64_FORMAT, cell->seed);
        for (guint i = 0; experiment->sweep && i < experiment->sweep->ranges->len; i++)
                add_value(text, trial_value(experiment, cell->arm, i));
}

/* Members of the result that describe how a cell ended. They are always reported. */
static const char *const members[] = { "result", "rounds", "env_steps", "episodes", "wall_s",
        "policy_sha256" };

static void add_member(GString *text, const Outcome *outcome, const char *name) {
        JsonNode *node = json_object_get_member(json_node_get_object(outcome->result), name);

        if (!node || !JSON_NODE_HOLDS_VALUE(node))
                return;
        if (json_node_get_value_type(node) == G_TYPE_STRING)
                g_string_append(text, json_node_get_string(node));
        else
                add_number(text, json_node_get_double(node));
}

static JsonObject *object_member(JsonObject *object, const char *name) {
        JsonNode *node = object ? json_object_get_member(object, name) : NULL;

        return node && JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
}

JsonObject *scheduler_bill(const Cell *cell) {
        JsonObject *result = cell->outcome ? json_node_get_object(cell->outcome->result) : NULL;

        return object_member(result ? object_member(result, "cost") : NULL, "scheduler_training");
}

/* The bill by another price sheet; NULL: there is none. */
static JsonObject *bill_under(const Cell *cell, const char *sheet) {
        return cell->outcome->bills ? object_member(json_node_get_object(cell->outcome->bills), sheet)
                                    : NULL;
}

double bill_total(JsonObject *bill, const char *name) {
        return bill ? json_object_get_double_member_with_default(bill, name, NAN) : NAN;
}

static int write_cells(const Experiment *experiment, const GPtrArray *cells, const char *directory) {
        g_autoptr(GString) text = g_string_new(NULL);

        add_key_names(experiment, text);
        for (size_t i = 0; i < G_N_ELEMENTS(members); i++)
                g_string_append_printf(text, ",%s", members[i]);
        for (Metric metric = 0; metric < _METRIC_MAX; metric++)
                g_string_append_printf(text, ",%s", metric_to_string(metric));
        g_string_append(text, ",cost_scheduler,cost_scheduler_paper");
        for (char **sheet = experiment->prices; sheet && *sheet; sheet++)
                g_string_append_printf(text, ",full_%s", *sheet);
        g_string_append_c(text, '\n');
        for (guint i = 0; i < cells->len; i++) {
                const Cell *cell = cells->pdata[i];
                JsonObject *bill = scheduler_bill(cell);

                if (!cell->outcome)
                        continue;
                add_keys(experiment, cell, text);
                for (size_t k = 0; k < G_N_ELEMENTS(members); k++) {
                        g_string_append_c(text, ',');
                        add_member(text, cell->outcome, members[k]);
                }
                for (Metric metric = 0; metric < _METRIC_MAX; metric++) {
                        g_string_append_c(text, ',');
                        add_number(text, outcome_metric(cell->outcome, metric, experiment->target));
                }
                g_string_append_c(text, ',');
                add_number(text, bill_total(bill, "full"));
                g_string_append_c(text, ',');
                add_number(text, bill_total(bill, "paper"));
                for (char **sheet = experiment->prices; sheet && *sheet; sheet++) {
                        g_string_append_c(text, ',');
                        add_number(text, bill_total(bill_under(cell, *sheet), "full"));
                }
                g_string_append_c(text, '\n');
        }
        return result_file_write(directory, "cells.csv", text->str, text->len);
}

static void add_rounds(
                const Experiment *experiment, const Cell *cell, const GPtrArray *names, GString *text) {
        const Series *series = &cell->outcome->series;
        g_autoptr(GPtrArray) columns = g_ptr_array_new();

        for (guint k = 0; k < names->len; k++)
                g_ptr_array_add(columns, (gpointer) series_column(series, names->pdata[k]));
        for (size_t i = 0; i < series->n_rounds; i++) {
                add_keys(experiment, cell, text);
                for (guint k = 0; k < names->len; k++) {
                        const double *column = columns->pdata[k];

                        g_string_append_c(text, ',');
                        if (column)
                                add_number(text, column[i]);
                }
                g_string_append_c(text, '\n');
        }
}

/* Writes rounds.csv. Its columns are those of the first finished cell, since all cells come from one
 * daemon. */
static int write_rounds(const Experiment *experiment, const GPtrArray *cells, const char *directory) {
        g_autoptr(GString) text = g_string_new(NULL);
        const GPtrArray *names = NULL;

        for (guint i = 0; i < cells->len && !names; i++) {
                const Cell *cell = cells->pdata[i];

                names = cell->outcome ? cell->outcome->series.names : NULL;
        }
        add_key_names(experiment, text);
        for (guint k = 0; names && k < names->len; k++)
                g_string_append_printf(text, ",%s", (const char *) names->pdata[k]);
        g_string_append_c(text, '\n');
        for (guint i = 0; names && i < cells->len; i++) {
                const Cell *cell = cells->pdata[i];

                if (cell->outcome)
                        add_rounds(experiment, cell, names, text);
        }
        return result_file_write(directory, "rounds.csv", text->str, text->len);
}

const char *cells_currency(const GPtrArray *cells) {
        for (guint i = 0; i < cells->len; i++) {
                const Cell *cell = cells->pdata[i];
                JsonNode *cost = cell->outcome ? json_object_get_member(
                                                                 json_node_get_object(cell->outcome->result),
                                                                 "cost")
                                               : NULL;

                if (cost && JSON_NODE_HOLDS_OBJECT(cost))
                        return json_object_get_string_member_with_default(
                                        json_node_get_object(cost), "currency", "");
        }
        return "";
}

int tables_write(const Experiment *experiment, const GPtrArray *cells, const char *directory) {
        int r;

        r = write_cells(experiment, cells, directory);
        return r < 0 ? r : write_rounds(experiment, cells, directory);
}
