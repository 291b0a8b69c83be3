/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reports the result of a sweep: a table for a terminal, summary.md for people, summary.json for
 * programs. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "actorctl/experiment/numbers.h"
#include "actorctl/experiment/sweep.h"
#include "actorctl/job-status.h"
#include "actorctl/view/table.h"

static char *money(double amount, const GPtrArray *cells) {
        char text[48];

        return g_strchomp(g_strdup(format_money(amount, cells_currency(cells), text)));
}

/* The name of a range without its section: "Gamma" for "Learner.Gamma". The experiment's file names the
 * section. */
static const char *short_key(const Range *range) {
        return strchr(range->key, '.') + 1;
}

static size_t n_in_state(const GArray *trials, TrialState state) {
        size_t n = 0;

        for (guint i = 0; i < trials->len; i++)
                n += g_array_index(trials, Trial, i).state == state;
        return n;
}

char *sweep_describe(const Experiment *experiment) {
        const Sweep *sweep = experiment->sweep;
        g_autoptr(GString) text = g_string_new(NULL);
        guint n = experiment->seeds->len;

        g_string_append_printf(text, "%s: %" PRIu64 " trials of %u seed%s",
                        sweep->method == SWEEP_HALVING ? "Successive halving" : "Random search",
                        sweep->n_trials, n, n == 1 ? "" : "s");
        if (sweep->method == SWEEP_HALVING) {
                g_string_append_printf(text, "; one of %" PRIu64 " goes on from each rung, of", sweep->eta);
                for (size_t i = 0; i < sweep->n_rungs; i++)
                        g_string_append_printf(text, "%s %" PRIu64, i > 0 ? "," : "", sweep_steps(sweep, i));
                g_string_append(text, " steps");
        }
        g_string_append_printf(text, ". %s decides%s.", metric_to_string(sweep->metric),
                        n > 1 ? ", by the median of the seeds" : "");
        return g_string_free(g_steal_pointer(&text), FALSE);
}

char *sweep_spending(const Experiment *experiment, const GPtrArray *cells, const GArray *trials) {
        const Sweep *sweep = experiment->sweep;
        g_autofree char *spent = money(sweep_cost(cells), cells);
        size_t n = n_in_state(trials, TRIAL_UNPAID);
        g_autoptr(GString) text = g_string_new(NULL);

        g_string_append_printf(text, "All cells together have cost %s", spent);
        if (sweep->budget.nano > 0) {
                g_autofree char *budget = money((double) sweep->budget.nano / 1e9, cells);

                g_string_append_printf(text, " of Budget=%s", budget);
        }
        if (n > 0)
                g_string_append_printf(text, "; %zu trial%s would have exceeded it, and %s not started", n,
                                n == 1 ? "" : "s", n == 1 ? "was" : "were");
        g_string_append_c(text, '.');
        return g_string_free(g_steal_pointer(&text), FALSE);
}

char *trial_sets(const Experiment *experiment, const Trial *trial) {
        const Arm *arm = experiment_arm(experiment, trial->arm);
        g_autoptr(GString) text = g_string_new(NULL);

        for (guint i = 0; i < arm->sets->len; i++) {
                g_autofree char *quoted = strchr(arm->sets->pdata[i], ' ')
                                                          ? g_shell_quote(arm->sets->pdata[i])
                                                          : g_strdup(arm->sets->pdata[i]);

                g_string_append_printf(text, "%s--set %s", i > 0 ? " " : "", quoted);
        }
        return g_string_free(g_steal_pointer(&text), FALSE);
}

static void add_heading(const Experiment *experiment, const GPtrArray *cells, GString *text) {
        const Sweep *sweep = experiment->sweep;
        const char *currency = cells_currency(cells);

        g_string_append(text, "| trial |");
        for (guint i = 0; i < sweep->ranges->len; i++)
                g_string_append_printf(text, " %s |", sweep_range(sweep, i)->key);
        g_string_append_printf(text, "%s %s | cost%s%s | state |\n|---|",
                        sweep->n_rungs > 1 ? " steps |" : "", metric_heading(sweep->metric),
                        currency[0] ? ", " : "", currency);
        for (guint i = 0; i < sweep->ranges->len + 2 + (sweep->n_rungs > 1); i++)
                g_string_append(text, "--:|");
        g_string_append(text, "---|\n");
}

static void add_row(const Experiment *experiment, const Trial *trial, GString *text) {
        g_string_append_printf(text, "| %s |", experiment_arm(experiment, trial->arm)->name);
        for (guint i = 0; i < experiment->sweep->ranges->len; i++)
                g_string_append_printf(text, " %s |", trial_value(experiment, trial->arm, i));
        if (experiment->sweep->n_rungs > 1)
                g_string_append_printf(text, " %" PRIu64 " |", trial->n_steps);
        g_string_append_c(text, ' ');
        add_short(text, trial->value);
        g_string_append(text, " | ");
        add_short(text, trial->cost > 0 ? trial->cost : NAN);
        g_string_append_printf(text, " | %s |\n", trial_state_to_string(trial->state));
}

static void add_faults(const Experiment *experiment, const GArray *trials, GString *text) {
        bool any = false;

        for (guint i = 0; i < trials->len; i++) {
                const Trial *trial = &g_array_index(trials, Trial, i);

                if (!trial->fault)
                        continue;
                if (!any)
                        g_string_append(text, "\n## Failed\n\n");
                any = true;
                g_string_append_printf(text, "* %s: %s\n", experiment_arm(experiment, trial->arm)->name,
                                trial->fault);
        }
}

static int write_summary(const Experiment *experiment, const GPtrArray *cells, const GArray *trials,
                const char *directory) {
        g_autofree char *described = sweep_describe(experiment),
                        *spent = sweep_spending(experiment, cells, trials);
        g_autoptr(GString) text = g_string_new(NULL);
        size_t n_open = n_in_state(trials, TRIAL_OPEN);

        g_string_append_printf(text, "# %s\n\n%s %s", experiment->title, described, spent);
        if (n_open > 0)
                g_string_append_printf(text, " %zu trials are unfinished.", n_open);
        g_string_append(text, "\n\n## Trials, the best first\n\n");
        add_heading(experiment, cells, text);
        for (guint i = 0; i < trials->len; i++)
                add_row(experiment, &g_array_index(trials, Trial, i), text);
        if (trials_have_best(trials)) {
                g_autofree char *sets = trial_sets(experiment, &g_array_index(trials, Trial, 0));

                g_string_append_printf(text,
                                "\n## A job with the values of the best trial\n\n    "
                                "actorctl run %s %s\n",
                                experiment->job_file, sets);
        }
        add_faults(experiment, trials, text);
        return result_file_write(directory, "summary.md", text->str, text->len);
}

static JsonObject *settings_to_json(const Experiment *experiment, const Trial *trial) {
        JsonObject *object = json_object_new();

        for (guint i = 0; i < experiment->sweep->ranges->len; i++)
                json_object_set_string_member(object, sweep_range(experiment->sweep, i)->key,
                                trial_value(experiment, trial->arm, i));
        return object;
}

static JsonObject *trial_to_json(const Experiment *experiment, const Trial *trial) {
        JsonObject *object = json_object_new();

        json_object_set_string_member(object, "trial", experiment_arm(experiment, trial->arm)->name);
        json_object_set_object_member(object, "settings", settings_to_json(experiment, trial));
        json_object_set_member(object, "rungs", json_unsigned(trial->n_rungs));
        json_object_set_member(object, "stop_steps",
                        trial->n_steps > 0 ? json_unsigned(trial->n_steps) : json_node_new(JSON_NODE_NULL));
        json_object_set_member(object, "value", json_real(trial->value));
        json_object_set_member(object, "cost", json_real(trial->cost));
        json_object_set_string_member(object, "state", trial_state_to_string(trial->state));
        json_object_set_member(object, "fault", json_word(trial->fault ? trial->fault : ""));
        return object;
}

static int write_json(const Experiment *experiment, const GPtrArray *cells, const GArray *trials,
                const char *directory) {
        const Sweep *sweep = experiment->sweep;
        JsonObject *object = json_object_new();
        g_autoptr(JsonNode) node = json_node_init_object(json_node_alloc(), object);
        JsonArray *rows = json_array_new();
        g_autofree char *text = NULL;
        size_t n;

        json_object_set_int_member(object, "schema", JSON_SCHEMA);
        json_object_set_string_member(object, "title", experiment->title);
        json_object_set_string_member(object, "method", sweep_method_to_string(sweep->method));
        json_object_set_string_member(object, "metric", metric_to_string(sweep->metric));
        json_object_set_member(object, "seeds", json_unsigned(experiment->seeds->len));
        json_object_set_member(object, "currency", json_word(cells_currency(cells)));
        json_object_set_member(object, "cost", json_real(sweep_cost(cells)));
        json_object_set_member(object, "budget",
                        json_real(sweep->budget.nano > 0 ? (double) sweep->budget.nano / 1e9 : NAN));
        json_object_set_boolean_member(object, "finished", n_in_state(trials, TRIAL_OPEN) == 0);
        json_object_set_member(object, "best",
                        json_word(trials_have_best(trials) ? experiment_arm(experiment,
                                                                             g_array_index(trials, Trial, 0)
                                                                                             .arm)
                                                                             ->name
                                                           : ""));
        for (guint i = 0; i < trials->len; i++)
                json_array_add_object_element(
                                rows, trial_to_json(experiment, &g_array_index(trials, Trial, i)));
        json_object_set_array_member(object, "trials", rows);
        json_object_unref(object);
        text = json_text(node, true, &n);
        return result_file_write(directory, "summary.json", text, n);
}

int sweep_write(const Experiment *experiment, const GPtrArray *cells, const char *directory) {
        g_autoptr(GArray) trials = sweep_trials(experiment, cells);
        g_autofree char *picture = NULL;
        size_t n;
        int r;

        r = tables_write(experiment, cells, directory);
        if (r < 0)
                return r;
        r = write_summary(experiment, cells, trials, directory);
        if (r < 0)
                return r;
        r = write_json(experiment, cells, trials, directory);
        if (r < 0)
                return r;
        picture = sweep_picture(experiment, cells, &n);
        return result_file_write(directory, "sweep.svg", picture, n);
}

static void add_cells(
                const Experiment *experiment, const GPtrArray *cells, const Trial *trial, Table *table) {
        g_autofree char *cost = money(trial->cost, cells);

        table_string(table, experiment_arm(experiment, trial->arm)->name);
        table_real(table, trial->value, "%.5g");
        for (guint i = 0; i < experiment->sweep->ranges->len; i++)
                table_string(table, trial_value(experiment, trial->arm, i));
        if (experiment->sweep->n_rungs > 1)
                table_unsigned(table, trial->n_steps);
        table_shown(table, trial->cost > 0 ? cost : "", json_real(trial->cost));
        table_string(table, trial_state_to_string(trial->state));
}

void sweep_print(const Experiment *experiment, const GPtrArray *cells, const Options *options) {
        const Sweep *sweep = experiment->sweep;
        g_autoptr(GArray) trials = sweep_trials(experiment, cells);
        g_autoptr(GPtrArray) headings = g_ptr_array_new_with_free_func(g_free);
        g_autofree char *spent = sweep_spending(experiment, cells, trials), *sets = NULL;
        g_autoptr(Table) table = table_new();

        table_column(table, "TRIAL", "trial", COLUMN_TEXT);
        g_ptr_array_add(headings, g_ascii_strup(metric_to_string(sweep->metric), -1));
        table_column(table, headings->pdata[0], "value", COLUMN_NUMBER);
        for (guint i = 0; i < sweep->ranges->len; i++) {
                char *heading = g_ascii_strup(short_key(sweep_range(sweep, i)), -1);

                g_ptr_array_add(headings, heading);
                table_column(table, heading, sweep_range(sweep, i)->key, COLUMN_NUMBER);
        }
        if (sweep->n_rungs > 1)
                table_column(table, "STEPS", "stop_steps", COLUMN_NUMBER);
        table_column(table, "COST", "cost", COLUMN_NUMBER);
        table_column(table, "STATE", "state", COLUMN_TEXT);
        table_spare(table, "cost");
        table_spare(table, "stop_steps");
        for (guint i = 0; i < trials->len; i++)
                add_cells(experiment, cells, &g_array_index(trials, Trial, i), table);
        table_print(table, options, NULL);
        if (options->no_legend)
                return;
        print_line(0, "%s", "");
        print_wrapped("", "", spent);
        if (!trials_have_best(trials))
                return;
        sets = trial_sets(experiment, &g_array_index(trials, Trial, 0));
        print_line(4, "The best: %s", sets);
}
