/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* env: lists the catalogue, and shows an environment's own description. The other words after `env` have
 * files of their own. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "actorctl/view/pager.h"
#include "actorctl/view/table.h"
#include "actorctl/private.h"
#include "actorctl/trial.h"
#include "include/actord/env.h"
#include "lib/environments.h"
#include "lib/slot.h"

static const char *module_name(const EnvironmentRow *row) {
        return row->module[0] ? row->module : "built in";
}

static const char *element_name(uint32_t element) {
        static const char *const names[] = {
                [ACTORD_F32] = "float32",
                [ACTORD_F64] = "float64",
                [ACTORD_I32] = "int32",
                [ACTORD_U8] = "uint8",
        };

        return element < G_N_ELEMENTS(names) && names[element] ? names[element] : "unknown";
}

/* The shape of a space, such as 84x84x4 */
static char *space_shape(const ActordSpace *space) {
        GString *text = g_string_new(NULL);

        for (uint32_t i = 0; i < space->n_dims; i++)
                g_string_append_printf(text, "%s%u", i > 0 ? "x" : "", space->shape[i]);
        return g_string_free(text, FALSE);
}

/* How many choices each number of an action has. */
static char *choices_text(const ActordEnvSpec *spec, const char *between) {
        GString *text = g_string_new(NULL);

        for (uint32_t k = 0; k < space_numbers(&spec->action); k++)
                g_string_append_printf(text, "%s%u", k > 0 ? between : "", spec_choices(spec, k));
        return g_string_free(text, FALSE);
}

static JsonNode *choices_json(const ActordEnvSpec *spec) {
        JsonNode *node = json_node_new(JSON_NODE_ARRAY);
        JsonArray *array = json_array_new();

        for (uint32_t k = 0; k < space_numbers(&spec->action); k++)
                json_array_add_int_element(array, spec_choices(spec, k));
        json_node_take_array(node, array);
        return node;
}

/* The size of a space, for a column of a table: "4" or "84x84x4"; "of 2" for one choice; "3 of 4" or "3 of
 * 2/3/5" for several choices. */
static char *space_short(const ActordEnvSpec *spec, const ActordSpace *space) {
        g_autofree char *sizes = space->n_choices == 0 && space->kind == ACTORD_MULTI_DISCRETE
                                                 ? choices_text(spec, "/")
                                                 : g_strdup_printf("%u", space->n_choices);
        g_autofree char *shape = space_shape(space);

        switch (space->kind) {
        case ACTORD_DISCRETE: return g_strdup_printf("of %u", space->n_choices);
        case ACTORD_MULTI_DISCRETE: return g_strdup_printf("%s of %s", shape, sizes);
        default: return g_steal_pointer(&shape);
        }
}

static char *space_words(const ActordEnvSpec *spec, const ActordSpace *space) {
        g_autofree char *shape = space_shape(space), *range = NULL;

        if (space->kind == ACTORD_DISCRETE)
                return g_strdup_printf("one of %u choices", space->n_choices);
        if (space->kind == ACTORD_MULTI_DISCRETE && space->n_choices > 0)
                return g_strdup_printf("%s choices at once, each of %u", shape, space->n_choices);
        if (space->kind == ACTORD_MULTI_DISCRETE) {
                g_autofree char *sizes = choices_text(spec, ", ");

                return g_strdup_printf("%s choices at once, of %s", shape, sizes);
        }
        if (isinf(space->low) && isinf(space->high))
                range = g_strdup(", unbounded");
        else
                range = g_strdup_printf(" from %.6g to %.6g", space->low, space->high);
        return g_strdup_printf("%s number%s (%s)%s", shape, strcmp(shape, "1") == 0 ? "" : "s",
                        element_name(space->element), range);
}

static JsonNode *space_json(const ActordEnvSpec *spec, const ActordSpace *space) {
        static const char *const kinds[] = {
                [ACTORD_DISCRETE] = "discrete",
                [ACTORD_MULTI_DISCRETE] = "multi-discrete",
                [ACTORD_BOX] = "box",
        };
        JsonObject *object = json_object_new();
        JsonNode *node = json_node_new(JSON_NODE_OBJECT);
        JsonArray *shape = json_array_new();

        for (uint32_t i = 0; i < space->n_dims; i++)
                json_array_add_int_element(shape, space->shape[i]);
        json_object_set_string_member(object, "kind", kinds[space->kind]);
        json_object_set_string_member(object, "element", element_name(space->element));
        json_object_set_array_member(object, "shape", shape);
        if (space->kind == ACTORD_BOX) {
                json_object_set_member(object, "low", json_real(space->low));
                json_object_set_member(object, "high", json_real(space->high));
        } else if (space->kind == ACTORD_MULTI_DISCRETE && space == &spec->action)
                json_object_set_member(object, "choices", choices_json(spec));
        else
                json_object_set_int_member(object, "choices", space->n_choices);
        json_node_take_object(node, object);
        return node;
}

/* Collects the specs of environments that the installed programs and modules know, by name. */
static void take_listed(const TrialRow *row, void *userdata) {
        if (row->kind == TRIAL_SPEC)
                g_hash_table_insert(userdata, g_strdup(row->spec->spec.name),
                                g_memdup2(row->spec, sizeof(TrialSpec)));
}

/* The keys of the environment's options, separated by spaces. */
static char *option_keys(const EnvironmentRow *row) {
        GString *text = g_string_new(NULL);
        ActordOption option;

        for (size_t i = 0; environment_option(row, i, &option); i++)
                g_string_append_printf(text, "%s%s", i > 0 ? " " : "", option.key);
        return g_string_free(text, FALSE);
}

static void list_row(Table *table, const EnvironmentRow *row, const TrialSpec *said) {
        g_autofree char *observation =
                        said ? space_short(&said->spec, &said->spec.observation) : g_strdup("-");
        g_autofree char *action = said ? space_short(&said->spec, &said->spec.action) : g_strdup("-");
        g_autofree char *keys = option_keys(row);

        table_string(table, row->name);
        table_string(table, observation);
        table_string(table, action);
        table_real(table, row->threshold, "%g");
        table_string(table, row->description);
        table_string(table, module_name(row));
        table_bool(table, said != NULL);
        table_real(table, said && said->spec.horizon_steps > 0 ? said->spec.horizon_steps : NAN, "%g");
        table_bool(table, said && !(said->spec.flags & ACTORD_ENV_STICKY));
        table_string(table, keys);
}

static ExitStatus env_list(const Options *options, const char *environment) {
        const TrialRequest request = { .kind = TRIAL_CATALOGUE };
        g_autoptr(GHashTable) listed = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        g_autoptr(Table) table = table_new();
        TrialVerdict verdict;
        JobFile job_file;
        ExitStatus status;

        status = trial_submission(options, environment_at(0)->name, &job_file);
        if (status == STATUS_OK)
                status = trial_call(&request, &job_file, NULL, take_listed, listed, &verdict);
        job_file_done(&job_file);
        if (status != STATUS_OK)
                return status;

        table_column(table, "ENVIRONMENT", "environment", COLUMN_TEXT);
        table_column(table, "OBS", "observation", COLUMN_TEXT);
        table_column(table, "ACT", "action", COLUMN_TEXT);
        table_column(table, "SOLVED", "solved_return", COLUMN_NUMBER);
        table_column(table, "DESCRIPTION", "description", COLUMN_TEXT);
        table_column(table, "MODULE", "module", COLUMN_JSON);
        table_column(table, "INSTALLED", "installed", COLUMN_JSON);
        table_column(table, "STEPS", "horizon_steps", COLUMN_JSON);
        table_column(table, "SNAPSHOTS", "snapshots", COLUMN_JSON);
        table_column(table, "OPTIONS", "options", COLUMN_JSON);
        for (size_t i = 0; i < environment_count(); i++) {
                const EnvironmentRow *row = environment_at(i);

                list_row(table, row, g_hash_table_lookup(listed, row->name));
        }
        pager_open(options);
        table_print(table, options, "environment");
        if (options->json == JSON_OFF && !options->no_legend) {
                print_line(2, "gym:ID is any of Gymnasium's, pettingzoo:MODULE any of PettingZoo's.");
                print_line(2, "mujoco:FILE.xml is a model, ./FILE.so a plugin.");
        }
        pager_close();
        return STATUS_OK;
}

static bool is_known(const char *name) {
        g_autoptr(GPtrArray) names = g_ptr_array_new();
        const char *nearest;

        if (environment_find(name) || strchr(name, '/') || strchr(name, ':') ||
                        g_str_has_suffix(name, ".so"))
                return true;
        for (size_t i = 0; i < environment_count(); i++)
                g_ptr_array_add(names, (gpointer) environment_at(i)->name);
        g_ptr_array_add(names, NULL);
        nearest = nearest_word(name, (const char *const *) names->pdata);
        if (nearest)
                complain("no environment has the name %s; did you mean %s? Any of Gymnasium's is gym:ID",
                                name, nearest);
        else
                complain("no environment has the name %s; `actorctl env list` shows them, and any of "
                         "Gymnasium's is gym:ID",
                                name);
        return false;
}

static char *state_words(const TrialSpec *said) {
        GString *text = g_string_new(NULL);

        for (uint32_t i = 0; i < said->n_parts; i++)
                g_string_append_printf(text, "%s%s (%u)", i > 0 ? ", " : "", said->parts[i].name,
                                said->parts[i].n_numbers);
        return g_string_free(text, FALSE);
}

static int by_text(gconstpointer a, gconstpointer b) {
        return strcmp(*(const char *const *) a, *(const char *const *) b);
}

/* The values of Engine=, the default first; empty for an environment without that key. NULL-terminated. */
static char **engines_of(const EnvironmentRow *row) {
        g_autofree char *directory = private_directory();
        g_autoptr(GDir) dir = g_dir_open(directory, 0, NULL);
        g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
        g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func(g_free);
        char engine[ENGINE_MAX];
        const char *file;

        if (!row || !environment_takes(row, ENGINE_KEY))
                return g_strv_builder_end(builder);

        while (dir && (file = g_dir_read_name(dir)))
                if (environment_engine_of_file(row, file, engine))
                        g_ptr_array_add(found, g_strdup(engine));
        g_ptr_array_sort(found, by_text);
        g_strv_builder_add(builder, ENGINE_DEFAULT);
        for (guint i = 0; i < found->len; i++)
                g_strv_builder_add(builder, found->pdata[i]);
        return g_strv_builder_end(builder);
}

/* Adds the keys in order, and for each key its default and help. */
static void add_options(JsonObject *object, const EnvironmentRow *row) {
        JsonObject *defaults = json_object_new(), *helps = json_object_new();
        JsonArray *keys = json_array_new();
        ActordOption option;

        for (size_t i = 0; environment_option(row, i, &option); i++) {
                json_array_add_string_element(keys, option.key);
                if (option.value[0])
                        json_object_set_string_member(defaults, option.key, option.value);
                else
                        json_object_set_null_member(defaults, option.key);
                json_object_set_string_member(helps, option.key, environment_option_help(option.key));
        }
        json_object_set_array_member(object, "options", keys);
        json_object_set_object_member(object, "option_defaults", defaults);
        json_object_set_object_member(object, "option_helps", helps);
}

static void show_json(const Options *options, const EnvironmentRow *row, const TrialSpec *said) {
        g_auto(GStrv) engines = engines_of(row);
        JsonObject *object = json_object_new(), *state = json_object_new();
        g_autoptr(JsonNode) node = json_node_init_object(json_node_alloc(), object);
        const ActordEnvSpec *spec = &said->spec;
        JsonArray *installed = json_array_new(), *metrics = json_array_new();

        for (char **engine = engines; *engine; engine++)
                json_array_add_string_element(installed, *engine);
        for (uint32_t i = 0; i < said->n_parts; i++)
                json_object_set_int_member(state, said->parts[i].name, said->parts[i].n_numbers);
        json_object_set_string_member(object, "environment", spec->name);
        json_object_set_string_member(object, "module", row ? module_name(row) : "plugin");
        json_object_set_member(object, "description", json_word(row ? row->description : ""));
        json_object_set_member(object, "observation", space_json(spec, &spec->observation));
        json_object_set_int_member(object, "frames", MAX(spec->stack, 1));
        json_object_set_member(object, "action", space_json(spec, &spec->action));
        json_object_set_int_member(object, "agents", spec->n_agents);
        json_object_set_member(object, "horizon_steps",
                        json_real(spec->horizon_steps > 0 ? spec->horizon_steps : NAN));
        json_object_set_member(object, "reward_low", json_real(spec->reward_low));
        json_object_set_member(object, "reward_high", json_real(spec->reward_high));
        json_object_set_member(object, "solved_return", json_real(spec->solved_return));
        json_object_set_boolean_member(object, "snapshots", !(spec->flags & ACTORD_ENV_STICKY));
        json_object_set_member(object, "snapshot_bytes", json_unsigned(spec->snapshot_bytes));
        json_object_set_object_member(object, "state", state);
        for (uint32_t i = 0; i < spec->n_metrics; i++)
                json_array_add_string_element(metrics, spec->metrics[i]);
        json_object_set_array_member(object, "metrics", metrics);
        json_object_set_array_member(object, "engines", installed);
        if (row)
                add_options(object, row);
        json_print(node, options->json);
        json_object_unref(object);
}

/* Prints a line for each key: name, default, help. The lines fit 80 columns. */
static void print_options(const EnvironmentRow *row) {
        int key_width = 0, value_width = 1;
        ActordOption option;
        size_t n;

        for (n = 0; environment_option(row, n, &option); n++) {
                key_width = MAX(key_width, (int) strlen(option.key));
                value_width = MAX(value_width, (int) strlen(option.value));
        }
        print_line(14, "options:      %s", n > 0 ? "each with its default" : "none");
        for (size_t i = 0; environment_option(row, i, &option); i++)
                print_line(4, "  %-*s  %-*s  %s", key_width, option.key, value_width,
                                option.value[0] ? option.value : "-", environment_option_help(option.key));
}

static void show_text(const EnvironmentRow *row, const TrialSpec *said) {
        const ActordEnvSpec *spec = &said->spec;
        g_autofree char *observation = space_words(spec, &spec->observation);
        g_autofree char *action = space_words(spec, &spec->action);
        g_auto(GStrv) engines = engines_of(row);
        g_autofree char *state = state_words(said), *list = g_strjoinv(", ", engines);
        g_autoptr(GString) metrics = g_string_new(NULL);

        for (uint32_t i = 0; i < spec->n_metrics; i++)
                g_string_append_printf(metrics, "%s%s", i > 0 ? ", " : "", spec->metrics[i]);

        printf("%s%s%s\n", spec->name, row ? ": " : "", row ? row->description : "");
        print_line(14, "module:       %s", row ? module_name(row) : "a plugin");
        print_line(14, "observation:  %s", observation);
        if (spec->stack > 0)
                print_line(14, "frames:       the last %u, each stored once", spec->stack);
        print_line(14, "action:       %s", action);
        if (spec->n_agents > 1)
                print_line(14, "agents:       %u, each observes and acts by itself", spec->n_agents);
        if (spec->horizon_steps > 0)
                print_line(14, "episode:      at most %u steps", spec->horizon_steps);
        else
                print_line(14, "episode:      without a limit");
        if (isfinite(spec->reward_low) && spec->reward_low == spec->reward_high)
                print_line(14, "reward:       %.6g a step", spec->reward_low);
        else if (isfinite(spec->reward_low) && isfinite(spec->reward_high))
                print_line(14, "reward:       from %.6g to %.6g a step", spec->reward_low,
                                spec->reward_high);
        if (isfinite(spec->solved_return))
                print_line(14, "solved:       at a mean return of %g", spec->solved_return);
        if (spec->flags & ACTORD_ENV_STICKY)
                print_line(14, "snapshots:    none: an episode ends with the actor that it runs in");
        else
                print_line(14, "snapshots:    yes, of %" G_GUINT64_FORMAT " bytes", spec->snapshot_bytes);
        if (metrics->len > 0)
                print_line(14, "metrics:      %s", metrics->str);
        print_line(14, "state:        %s", state[0] ? state : "not shown");
        if (list[0])
                print_line(14, "engines:      %s", list);
        if (row)
                print_options(row);
}

static ExitStatus env_show(const Options *options, const char *environment) {
        JobFile job_file;
        TrialSpec said;
        ExitStatus status;

        status = trial_submission(options, environment, &job_file);
        if (status == STATUS_OK)
                status = trial_spec(&job_file, &said);
        job_file_done(&job_file);
        if (status != STATUS_OK)
                return status;

        pager_open(options);
        if (options->json != JSON_OFF)
                show_json(options, environment_find(environment), &said);
        else
                show_text(environment_find(environment), &said);
        pager_close();
        return STATUS_OK;
}

static const char *const of_rollouts[] = { "steps", "actions", "state", "states", "gif", "video", "frames",
        NULL };

/* clang-format off */
static const struct {
        const char *word;
        ExitStatus (*run)(const Options *options, const char *environment);
        bool names;                 /* the word needs a name */
        const char *const *refused; /* the options that the word does not take; NULL: it takes all */
} words[] = {
        { "list", env_list, false, of_rollouts },
        { "show", env_show, true, of_rollouts },
        { "check", env_check, true, of_rollouts },
        { "bench", env_bench, true, of_rollouts + 1 }, /* it takes --steps */
        { "rollout", env_rollout, true, NULL },
};
/* clang-format on */

ExitStatus verb_env(const Options *options, char **arguments, size_t n) {
        const char *word = n > 0 ? arguments[0] : "list", *name = n > 1 ? arguments[1] : NULL;

        for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
                g_autofree char *called = g_strconcat("env ", word, NULL);

                if (strcmp(word, words[i].word) != 0 || words[i].names != (name != NULL))
                        continue;
                if (options_refuse(options, called, words[i].refused) != STATUS_OK)
                        return STATUS_USAGE;
                return !name || is_known(name) ? words[i].run(options, name) : STATUS_USAGE;
        }
        complain("env takes one of: list, show NAME, check NAME, bench NAME, rollout NAME; a NAME may also "
                 "be ./FILE.so, gym:ID, pettingzoo:MODULE or mujoco:FILE.xml");
        return STATUS_USAGE;
}
