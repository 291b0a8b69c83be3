/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* keys: prints the keys of a job file, with their possible values. The completions of --set in shells use
 * this output. */
#include <string.h>

#include "actorctl/actorctl.h"
#include "actorctl/view/table.h"
#include "include/settings.h"
#include "lib/cleanup.h"
#include "lib/settings/print.h"
#include "lib/settings/settings.h"

static const char *type_text(const char *type) {
        static const char *const texts[][2] = {
                { "string", "text" },
                { "u32", "number" },
                { "u64", "number" },
                { "f64", "number" },
                { "usec", "time" },
                { "bytes", "size" },
                { "percent", "percentage" },
                { "cpuset", "CPUs" },
                { "u32list", "list" },
                { "convolutions", "list" },
                { "counts", "list" },
                { "amounts", "list" },
        };

        for (size_t i = 0; i < ELEMENTSOF(texts); i++)
                if (strcmp(type, texts[i][0]) == 0)
                        return texts[i][1];
        return type; /* the types "money", "matrix" and "range" are shown as they are */
}

static char *full_name(const SettingRow *row) {
        return g_strdup_printf("%s.%s", row->section, row->key);
}

static bool is_meant(const SettingRow *row, const char *word) {
        g_autofree char *name = full_name(row);

        return !word || g_ascii_strcasecmp(word, row->section) == 0 ||
               g_ascii_strcasecmp(word, row->key) == 0 || g_ascii_strcasecmp(word, name) == 0;
}

static void add_row(Table *table, Setting i) {
        const SettingRow *row = setting_row(i);
        const char *const *words = setting_words(i);
        g_autofree char *name = full_name(row),
                        *values = words ? g_strjoinv("|", (char **) words) : g_strdup(type_text(row->type));

        table_string(table, name);
        table_string(table, values);
        table_string(table, row->fallback);
        table_string(table, row->help);
}

/* Suggests the nearest full name if the word has a dot, otherwise the nearest section or key. */
static void complain_unknown(const char *word) {
        g_autoptr(GPtrArray) known = g_ptr_array_new_with_free_func(g_free);
        const char *nearest;

        for (Setting i = 0; i < _SETTING_MAX; i++) {
                const SettingRow *row = setting_row(i);

                if (strchr(word, '.'))
                        g_ptr_array_add(known, full_name(row));
                else {
                        g_ptr_array_add(known, g_strdup(row->section));
                        g_ptr_array_add(known, g_strdup(row->key));
                }
        }
        g_ptr_array_add(known, NULL);
        nearest = nearest_word(word, (const char *const *) known->pdata);
        if (nearest)
                complain("no section or key of a job file is called %s; did you mean %s?", word, nearest);
        else
                complain("no section or key of a job file is called %s: `actorctl keys` lists all", word);
}

ExitStatus verb_keys(const Options *options, char **arguments, size_t n) {
        const char *word = n > 0 ? arguments[0] : NULL;
        g_autoptr(Table) table = table_new();
        unsigned n_rows = 0;

        table_column(table, "KEY", "key", COLUMN_TEXT);
        table_column(table, "VALUES", "values", COLUMN_TEXT);
        table_column(table, "DEFAULT", "default", COLUMN_TEXT);
        table_column(table, "MEANING", "meaning", COLUMN_TEXT);
        table_spare(table, "default");
        for (Setting i = 0; i < _SETTING_MAX; i++)
                if (is_meant(setting_row(i), word)) {
                        add_row(table, i);
                        n_rows++;
                }
        if (n_rows == 0) {
                complain_unknown(word);
                return STATUS_USAGE;
        }
        table_page(table, options, "key");
        return STATUS_OK;
}
