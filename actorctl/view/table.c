/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A table as text or as JSON. libsmartcols makes the layout, json-glib writes JSON; each cell is kept in
 * both forms, so that neither parses the other's output. */
#include "actorctl/view/table.h"

#include <libsmartcols.h>
#include <math.h>
#include <pwd.h>
#include <stdio.h>

typedef struct Column {
        const char *heading, *name;
        ColumnKind kind;
} Column;

typedef struct Cell {
        char *text;
        JsonNode *node;
} Cell;

struct Table {
        GArray *columns; /* of Column */
        GArray *cells;   /* of Cell */
};

static void cell_clear(gpointer data) {
        Cell *cell = data;

        g_free(cell->text);
        json_node_unref(cell->node);
}

Table *table_new(void) {
        Table *table = g_new0(Table, 1);

        table->columns = g_array_new(FALSE, FALSE, sizeof(Column));
        table->cells = g_array_new(FALSE, FALSE, sizeof(Cell));
        g_array_set_clear_func(table->cells, cell_clear);
        return table;
}

Table *table_free(Table *table) {
        if (!table)
                return NULL;
        g_array_unref(table->cells);
        g_array_unref(table->columns);
        g_free(table);
        return NULL;
}

void table_column(Table *table, const char *heading, const char *name, ColumnKind kind) {
        Column column = { heading, name, kind };

        g_assert(table->cells->len == 0);
        g_array_append_val(table->columns, column);
}

static void table_cell(Table *table, char *text, JsonNode *node) {
        Cell cell = { text, node };

        g_array_append_val(table->cells, cell);
}

void table_string(Table *table, const char *value) {
        table_cell(table, g_strdup(value), json_node_init_string(json_node_alloc(), value));
}

void table_user(Table *table, uint32_t uid) {
        const struct passwd *entry = getpwuid(uid);
        char number[16];

        snprintf(number, sizeof(number), "%u", uid);
        table_string(table, entry ? entry->pw_name : number);
}

void table_unsigned(Table *table, uint64_t value) {
        table_cell(table, g_strdup_printf("%" G_GUINT64_FORMAT, value), json_unsigned(value));
}

void table_real(Table *table, double value, const char *format) {
        table_cell(table, isfinite(value) ? g_strdup_printf(format, value) : g_strdup(""), json_real(value));
}

void table_bool(Table *table, bool value) {
        table_cell(table, g_strdup(value ? "yes" : "no"), json_node_init_boolean(json_node_alloc(), value));
}

static size_t table_rows(const Table *table) {
        return table->columns->len > 0 ? table->cells->len / table->columns->len : 0;
}

static const Cell *cell_at(const Table *table, size_t row, size_t column) {
        return &g_array_index(table->cells, Cell, row * table->columns->len + column);
}

JsonNode *table_to_json(const Table *table) {
        JsonArray *array = json_array_new();
        JsonNode *node = json_node_init_array(json_node_alloc(), array);

        for (size_t row = 0; row < table_rows(table); row++) {
                JsonObject *object = json_object_new();

                for (size_t i = 0; i < table->columns->len; i++)
                        json_object_set_member(object, g_array_index(table->columns, Column, i).name,
                                        json_node_ref(cell_at(table, row, i)->node));
                json_array_add_object_element(array, object);
        }
        json_array_unref(array);
        return node;
}

static struct libscols_table *table_to_scols(const Table *table, const Options *options) {
        struct libscols_table *scols = scols_new_table();

        if (!scols)
                return NULL;
        (void) scols_table_enable_noheadings(scols, options->no_legend);
        for (size_t i = 0; i < table->columns->len; i++) {
                const Column *column = &g_array_index(table->columns, Column, i);

                int flags = column->kind == COLUMN_NUMBER ? SCOLS_FL_RIGHT : 0;

                if (column->kind == COLUMN_JSON)
                        flags = SCOLS_FL_HIDDEN;
                (void) scols_table_new_column(scols, column->heading, 0, flags);
        }
        for (size_t row = 0; row < table_rows(table); row++) {
                struct libscols_line *line = scols_table_new_line(scols, NULL);

                for (size_t i = 0; line && i < table->columns->len; i++)
                        (void) scols_line_set_data(line, i, cell_at(table, row, i)->text);
        }
        return scols;
}

void table_print(const Table *table, const Options *options, const char *noun) {
        struct libscols_table *scols;

        if (options->json != JSON_OFF) {
                g_autoptr(JsonNode) node = table_to_json(table);

                json_print(node, options->json);
                return;
        }
        scols = table_to_scols(table, options);
        if (!scols)
                return;
        (void) scols_print_table(scols);
        scols_unref_table(scols);
        if (noun && !options->no_legend)
                printf("%s%zu %s%s listed.\n", table_rows(table) > 0 ? "\n" : "", table_rows(table), noun,
                                table_rows(table) == 1 ? "" : "s");
}

void print_wrapped(const char *first, const char *rest, const char *text) {
        g_auto(GStrv) words = g_strsplit(text, " ", -1);
        size_t column = strlen(first);

        printf("%s", first);
        for (char **word = words; *word; word++) {
                bool breaks = word > words && column + 1 + strlen(*word) > 80;

                if (breaks) {
                        printf("\n%s", rest);
                        column = strlen(rest);
                } else if (word > words) {
                        printf(" ");
                        column++;
                }
                printf("%s", *word);
                column += strlen(*word);
        }
        printf("\n");
}
