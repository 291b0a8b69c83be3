/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The cells of an experiment are the cross product of arms, levels and seeds. The job parser checks each
 * cell before the first one runs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "actorctl/experiment/experiment.h"
#include "lib/fragment.h"
#include "lib/sanitise.h"
#include "lib/sheets.h"

void cell_free(gpointer data) {
        Cell *cell = data;

        g_free(cell->name);
        g_free(cell->definition);
        g_free(cell->currency);
        g_free(cell->scheduler);
        g_free(cell->fault);
        outcome_free(cell->outcome);
        g_free(cell);
}

static void add_sets(GPtrArray *to, const GPtrArray *sets) {
        for (guint i = 0; i < sets->len; i++)
                g_ptr_array_add(to, g_strdup(sets->pdata[i]));
}

GPtrArray *cell_sets(const Experiment *experiment, const Cell *cell) {
        GPtrArray *sets = g_ptr_array_new_with_free_func(g_free);

        add_sets(sets, experiment->sets);
        add_sets(sets, experiment_arm(experiment, cell->arm)->sets);
        for (guint i = 0; i < experiment->factors->len; i++)
                add_sets(sets, experiment_level(experiment, cell, i)->sets);
        g_ptr_array_add(sets, g_strdup_printf("Job.Seed=%" G_GUINT64_FORMAT, cell->seed));
        return sets;
}

static void name_cell(const Experiment *experiment, Cell *cell) {
        g_autofree char *levels = experiment_levels(experiment, cell, ".");

        cell->name = g_strdup_printf("%s%s%s.%" G_GUINT64_FORMAT,
                        experiment_arm(experiment, cell->arm)->name, levels[0] ? "." : "", levels,
                        cell->seed);
}

static bool sets_key(const GPtrArray *sets, const char *key, size_t n) {
        for (guint i = 0; i < sets->len; i++)
                if (strncmp(sets->pdata[i], key, n) == 0 && ((const char *) sets->pdata[i])[n] == '=')
                        return true;
        return false;
}

/* Finds the section and key of the experiment's file from which the cell has this setting. NULL: there is
 * none. */
static char *find_origin(const Experiment *experiment, const Cell *cell, const char *setting, size_t n,
                char **ret_key) {
        const Arm *arm = experiment_arm(experiment, cell->arm);

        for (guint i = experiment->factors->len; i-- > 0;)
                if (sets_key(experiment_level(experiment, cell, i)->sets, setting, n)) {
                        if (experiment->sweep) {
                                *ret_key = g_strdup(cell->levels[i] == 0 ? "MinSteps" : "MaxSteps");
                                return g_strdup("Sweep");
                        }
                        *ret_key = g_strdup(experiment_level(experiment, cell, i)->name);
                        return g_strconcat("Factor ", experiment_factor(experiment, i)->name, NULL);
                }
        *ret_key = g_strndup(setting, n);
        if (sets_key(arm->sets, setting, n))
                return experiment->sweep ? g_strdup("Range") : g_strconcat("Arm ", arm->name, NULL);
        return sets_key(experiment->sets, setting, n) ? g_strdup("Set") : NULL;
}

/* Prints a message of the job parser. The parser names overrides as "--set Section.Key=VALUE: …". But the
 * user wrote them into the experiment's file, so this function names the line of that file. */
static void complain_settings(const OverrideSource *source, const char *message) {
        const Experiment *experiment = ((const CellSource *) source)->experiment;
        const Cell *cell = ((const CellSource *) source)->cell;
        static const char prefix[] = "--set ";
        g_auto(GStrv) lines = g_strsplit(message, "\n", -1);

        (void) fflush(stdout);
        for (char **line = lines; *line; line++) {
                const char *setting = g_str_has_prefix(*line, prefix) ? *line + strlen(prefix) : "";
                g_autofree char *key = NULL, *section = find_origin(experiment, cell, setting,
                                                             strcspn(setting, "="), &key);

                if (section)
                        fprintf(stderr, "%s:%u: [%s] %s\n", experiment->file_name,
                                        settings_locate(experiment->text, section, key), section, setting);
                else
                        fprintf(stderr, "%s (in the cell %s of %s)\n", *line, cell->name,
                                        experiment->file_name);
        }
}

bool cell_fits(const Cell *cell, uint64_t n_busy, uint32_t n_cpus) {
        return n_busy == 0 || n_busy + cell->n_cpus <= n_cpus;
}

double cell_cost(const Cell *cell) {
        double full = cell->outcome ? outcome_full(cell->outcome) : cell->cost;

        return isfinite(full) && full > 0 ? full : 0;
}

CellSource cell_source(const Experiment *experiment, const Cell *cell) {
        return (CellSource){ { experiment->file_name, complain_settings }, experiment, cell };
}

/* The most actors of a job. With a fixed number of actors, MaxActors= is only a limit. */
static uint32_t most_actors(const JobSettings *settings) {
        return settings->scheduler.kind == SCHEDULER_FIXED ? settings->n_actors
                                                           : settings_actors_max(settings);
}

static char *sheet_currency(const JobFile *job_file) {
        g_autofree char *named = NULL;
        g_autoptr(GKeyFile) file = g_key_file_new();

        if (!job_file->sheet && sheets_read(job_file->settings.price_sheet, &named) < 0)
                return NULL;
        if (!g_key_file_load_from_data(
                            file, named ? named : job_file->sheet, (gsize) -1, G_KEY_FILE_NONE, NULL))
                return NULL;
        return g_key_file_get_value(file, "Sheet", "Currency", NULL);
}

ExitStatus cell_check(const Experiment *experiment, Cell *cell) {
        g_autoptr(GPtrArray) sets = cell_sets(experiment, cell);
        CellSource source = cell_source(experiment, cell);
        JobFile job_file;
        ExitStatus status;

        status = job_file_load_from(
                        &job_file, experiment->job_file, experiment->job_text, sets, &source.source);
        if (status == STATUS_OK && !cell->after)
                status = job_file_add_file(&job_file);
        if (status == STATUS_OK) {
                uint64_t steps = (uint64_t) job_file.settings.envs_per_actor *
                                 job_file.settings.rollout_steps;

                cell->actor_rounds = (job_file.settings.stop_steps + steps - 1) / steps;
                cell->currency = sheet_currency(&job_file);
                cell->evaluates = job_file.settings.evaluation_episodes > 0;
                cell->budgeted = settings_present(&job_file.settings, SETTING_Job_Budget);
                cell->n_cpus = distribution_cpus(distribution_of(&job_file.settings), &job_file.settings);
                if (scheduler_has(job_file.settings.scheduler.kind, TRAIT_TAKES_TRAINED))
                        cell->scheduler = g_strdup(job_file.settings.scheduler.argument);
                cell->n_actors_max = settings_actors_max(&job_file.settings);
                cell->n_actors_most =
                                cell->after ? cell->after->n_actors_most : most_actors(&job_file.settings);
                cell->definition = cell_define(experiment, &job_file, cell->after);
        }
        job_file_done(&job_file);
        return status;
}

Cell *cell_new(const Experiment *experiment, size_t arm, size_t combination, uint64_t seed) {
        Cell *cell = g_new0(Cell, 1);

        cell->arm = arm;
        cell->seed = seed;
        cell_set_combination(experiment, cell, combination);
        name_cell(experiment, cell);
        return cell;
}

/* The override "Scaling.Policy=" of the cell; NULL: it has none, so the job file's value applies. */
static const char *policy_set(const GPtrArray *sets) {
        static const char key[] = "Scaling.Policy=";

        for (guint i = sets->len; i-- > 0;)
                if (g_str_has_prefix(sets->pdata[i], key))
                        return sets->pdata[i];
        return NULL;
}

/* The ARM in "Scaling.Policy=permuted:@ARM"; NULL: the policy names no other arm. */
static const char *policy_arm(const char *set) {
        const char *colon = set ? strchr(set, ':') : NULL;

        return colon && colon[1] == '@' ? colon + 2 : NULL;
}

static bool policy_repeats(const char *set) {
        return g_str_has_prefix(set, "Scaling.Policy=replay:") ||
               g_str_has_prefix(set, "Scaling.Policy=permuted:");
}

/* Reports a problem with a setting of a cell in the words of the job parser. */
static ExitStatus complain_set(
                const Experiment *experiment, const Cell *cell, const char *set, const char *reason) {
        g_autofree char *message = g_strdup_printf("--set %s: %s", set, reason),
                        *safe = sanitise_text(message);
        CellSource source = cell_source(experiment, cell);

        complain_settings(&source.source, safe);
        return STATUS_USAGE;
}

static ExitStatus complain_arm(const Experiment *experiment, const Cell *cell, const char *set) {
        g_autoptr(GPtrArray) names = g_ptr_array_new();
        g_autofree char *reason = NULL;
        const char *name = policy_arm(set), *nearest;

        for (guint i = 0; i < experiment->arms->len; i++)
                g_ptr_array_add(names, experiment_arm(experiment, i)->name);
        g_ptr_array_add(names, NULL);
        nearest = nearest_word(name, (const char *const *) names->pdata);
        reason = g_strdup_printf("there is no [Arm %s]%s%s%s", name, nearest ? " (did you mean " : "",
                        nearest ? nearest : "", nearest ? "?)" : "");
        return complain_set(experiment, cell, set, reason);
}

/* Finds the cell whose decisions a cell repeats: the cell of another arm with the same levels and seed. */
static ExitStatus find_after(const Experiment *experiment, const GPtrArray *cells, guint place) {
        Cell *cell = cells->pdata[place];
        g_autoptr(GPtrArray) sets = cell_sets(experiment, cell);
        const char *set = policy_set(sets), *name = policy_arm(set);

        if (!name)
                return STATUS_OK;
        if (!policy_repeats(set))
                return complain_set(experiment, cell, set,
                                "only replay:@ARM and permuted:@ARM use another arm's decisions");
        for (size_t arm = 0; arm < experiment->arms->len; arm++)
                if (strcmp(experiment_arm(experiment, arm)->name, name) == 0) {
                        cell->after = cells->pdata[place - cell->arm + arm];
                        return STATUS_OK;
                }
        return complain_arm(experiment, cell, set);
}

/* Checks that this cell can repeat any decision of the other arm. Otherwise the user would see the error
 * only after paying for the other arm. */
static ExitStatus check_repeatable(const Experiment *experiment, const Cell *cell) {
        g_autoptr(GPtrArray) sets = cell_sets(experiment, cell);
        g_autofree char *reason = NULL;

        if (!cell->after || cell->after->n_actors_most <= cell->n_actors_max)
                return STATUS_OK;
        reason = g_strdup_printf(
                        "[Arm %s], on which this arm depends, may use %u actors, but this arm allows only "
                        "%u; set Scaling.MaxActors=%u",
                        experiment_arm(experiment, cell->after->arm)->name, cell->after->n_actors_most,
                        cell->n_actors_max, cell->after->n_actors_most);
        return complain_set(experiment, cell, policy_set(sets), reason);
}

/* Checks the cell whose decisions this cell repeats, if there is one, and then this cell. */
static ExitStatus check_chain(const Experiment *experiment, Cell *cell, size_t depth) {
        ExitStatus status = STATUS_OK;

        if (cell->definition)
                return STATUS_OK;
        if (depth > experiment->arms->len) {
                fprintf(stderr, "%s: [Arm %s] repeats its own decisions through other arms\n",
                                experiment->file_name, experiment_arm(experiment, cell->arm)->name);
                return STATUS_USAGE;
        }
        if (cell->after)
                status = check_chain(experiment, cell->after, depth + 1);
        if (status == STATUS_OK)
                status = cell_check(experiment, cell);
        return status == STATUS_OK ? check_repeatable(experiment, cell) : status;
}

/* Makes all cells. Seeds are the outermost loop: if an experiment is interrupted, the finished cells make
 * complete comparisons. */
static void make_cells(const Experiment *experiment, GPtrArray *cells) {
        for (guint seed = 0; seed < experiment->seeds->len; seed++)
                for (size_t combination = 0; combination < experiment_n_combinations(experiment);
                                combination++)
                        for (size_t arm = 0; arm < experiment->arms->len; arm++)
                                g_ptr_array_add(cells, cell_new(experiment, arm, combination,
                                                                       g_array_index(experiment->seeds,
                                                                                       uint64_t, seed)));
}

/* Checks that a cell's name can be a file's name. Otherwise the user would see the error only after paying
 * for the job. */
static ExitStatus check_name(const Experiment *experiment, const Cell *cell) {
        size_t n = strlen(cell->name);

        if (n <= CELL_NAME_MAX)
                return STATUS_OK;
        fprintf(stderr,
                        "%s: the cell %s has a name of %zu characters, and a file's name has room for %zu: "
                        "use shorter names of arms and levels\n",
                        experiment->file_name, cell->name, n, CELL_NAME_MAX);
        return STATUS_USAGE;
}

ExitStatus cells_make(const Experiment *experiment, GPtrArray **ret) {
        g_autoptr(GPtrArray) cells = g_ptr_array_new_with_free_func(cell_free);
        ExitStatus status = STATUS_OK;

        /* in floating point, since the product of all three may not fit an integer */
        if ((double) experiment_n_combinations(experiment) * experiment->arms->len * experiment->seeds->len >
                        CELLS_MAX) {
                fprintf(stderr, "%s: more than %u cells: use fewer arms, levels or seeds\n",
                                experiment->file_name, CELLS_MAX);
                return STATUS_USAGE;
        }
        make_cells(experiment, cells);
        for (guint i = 0; status == STATUS_OK && i < cells->len; i++)
                status = check_name(experiment, cells->pdata[i]);
        for (guint i = 0; status == STATUS_OK && i < cells->len; i++)
                status = find_after(experiment, cells, i);
        for (guint i = 0; status == STATUS_OK && i < cells->len; i++)
                status = check_chain(experiment, cells->pdata[i], 0);
        if (status == STATUS_OK)
                *ret = g_steal_pointer(&cells);
        return status;
}

double *group_values(const Experiment *experiment, const GPtrArray *cells, size_t arm, size_t combination,
                Metric metric) {
        double *values = g_new(double, experiment->seeds->len);
        size_t n = 0;

        for (guint i = 0; i < cells->len; i++) {
                const Cell *cell = cells->pdata[i];

                if (cell->arm != arm || cell_combination(experiment, cell) != combination)
                        continue;
                g_assert(n < experiment->seeds->len);
                values[n++] = cell->outcome ? outcome_restricted(cell->outcome, metric, experiment->target)
                                            : NAN;
        }
        g_assert(n == experiment->seeds->len);
        return values;
}
