/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* env: the catalogue, and whether a plugin would do. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "actorctl/pager.h"
#include "actorctl/table.h"
#include "actorctl/verify.h"
#include "lib/environments.h"

static const char *module_name(const EnvironmentRow *row) {
        return row->module[0] ? row->module : "built in";
}

static ExitStatus env_list(const Options *options) {
        g_autoptr(Table) table = table_new();

        table_column(table, "ENVIRONMENT", "environment", COLUMN_TEXT);
        table_column(table, "MODULE", "module", COLUMN_TEXT);
        table_column(table, "SOLVED", "solved_return", COLUMN_NUMBER);
        table_column(table, "DESCRIPTION", "description", COLUMN_TEXT);
        for (size_t i = 0; i < environment_count(); i++) {
                const EnvironmentRow *row = environment_at(i);

                table_string(table, row->name);
                table_string(table, module_name(row));
                table_real(table, row->threshold, "%g");
                table_string(table, row->description);
        }
        pager_open(options);
        table_print(table, options, "environment");
        pager_close();
        return STATUS_OK;
}

static const EnvironmentRow *find(const char *name) {
        const EnvironmentRow *row = environment_find(name);
        g_autoptr(GPtrArray) names = g_ptr_array_new();
        const char *nearest;

        if (row)
                return row;
        for (size_t i = 0; i < environment_count(); i++)
                g_ptr_array_add(names, (gpointer) environment_at(i)->name);
        g_ptr_array_add(names, NULL);
        nearest = nearest_word(name, (const char *const *) names->pdata);
        if (nearest)
                complain("no environment has the name %s; did you mean %s?", name, nearest);
        else
                complain("no environment has the name %s; `actorctl env list` shows them", name);
        return NULL;
}

static void print_row(const Options *options, const EnvironmentRow *row) {
        g_auto(GStrv) keys = g_strsplit(row->options, " ", -1);

        if (options->json != JSON_OFF) {
                JsonObject *object = json_object_new();
                g_autoptr(JsonNode) node = json_node_init_object(json_node_alloc(), object);
                JsonArray *array = json_array_new();

                for (char **key = keys; *key; key++)
                        json_array_add_string_element(array, *key);
                json_object_set_string_member(object, "environment", row->name);
                json_object_set_string_member(object, "module", module_name(row));
                json_object_set_string_member(object, "description", row->description);
                json_object_set_member(object, "solved_return", json_real(row->threshold));
                json_object_set_array_member(object, "options", array);
                json_print(node, options->json);
                json_object_unref(object);
                return;
        }
        printf("%s: %s\n", row->name, row->description);
        printf("module: %s\n", module_name(row));
        if (isfinite(row->threshold))
                printf("solved at a mean return of %g\n", row->threshold);
        printf("keys of its [Environment] section:%s\n", keys[0] ? "" : " none");
        for (char **key = keys; *key; key++)
                printf("  %s\n", *key);
}

static ExitStatus env_show(const Options *options, const char *name) {
        const EnvironmentRow *row = find(name);

        if (!row)
                return STATUS_USAGE;
        pager_open(options);
        print_row(options, row);
        pager_close();
        return STATUS_OK;
}

/* A job of two lines, from the working directory. */
static ExitStatus env_check(const Options *options, const char *file) {
        g_autoptr(GPtrArray) sets = g_ptr_array_new_with_free_func(g_free);
        Submission submission;
        ExitStatus status;

        if (strpbrk(file, "\r\n")) {
                complain("a file name with a line break cannot stand in a job file");
                return STATUS_USAGE;
        }
        g_ptr_array_add(sets, g_strconcat("Job.Environment=", strchr(file, '/') ? "" : "./", file, NULL));
        status = submission_load_text(&submission, NULL, "[Job]\n", sets);
        if (status == STATUS_OK)
                status = verify_submission(options, &submission);
        submission_done(&submission);
        return status;
}

ExitStatus verb_env(const Options *options, char **arguments, size_t n) {
        if (n == 0 || (n == 1 && strcmp(arguments[0], "list") == 0))
                return env_list(options);
        if (n == 2 && strcmp(arguments[0], "show") == 0)
                return env_show(options, arguments[1]);
        if (n == 2 && strcmp(arguments[0], "check") == 0)
                return env_check(options, arguments[1]);
        complain("env takes one of: list, show NAME, check FILE.so");
        return STATUS_USAGE;
}
