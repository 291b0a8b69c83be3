/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A table as text or as JSON. libsmartcols makes the layout, and json-glib writes the JSON. Each cell is
 * kept in both forms, so that no form needs to be parsed. */
#include "actorctl/view/table.h"

#include <libsmartcols.h>
#include <limits.h>
#include <math.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "actorctl/view/pager.h"
#include "actorctl/view/screen.h"
#include "lib/sanitise.h"

/* The width of the shown columns with the spaces between them. least: the columns have their smallest
 * widths. */
static unsigned width_of(const FitColumn *columns, size_t n, bool least) {
        unsigned sum = 0, n_shown = 0;

        for (size_t i = 0; i < n; i++) {
                if (!columns[i].shown)
                        continue;
                sum += least ? columns[i].least : columns[i].width;
                n_shown++;
        }
        return n_shown > 0 ? sum + n_shown - 1 : 0;
}

/* The place of column i in the order in which columns are left out; the lowest place goes first. */
static size_t order_of(const FitColumn *columns, size_t n, size_t i) {
        return columns[i].spare > 0 ? columns[i].spare : UINT_MAX + n - i;
}

/* The next column to be left out; NULL: only the first one remains. */
static FitColumn *next_spare(FitColumn *columns, size_t n) {
        size_t first = 0, found;

        while (first < n && !columns[first].shown)
                first++;
        found = n;
        for (size_t i = first + 1; i < n; i++)
                if (columns[i].shown &&
                                (found == n || order_of(columns, n, i) < order_of(columns, n, found)))
                        found = i;
        return found < n ? &columns[found] : NULL;
}

static FitColumn *widest_text(FitColumn *columns, size_t n) {
        FitColumn *found = NULL;

        for (size_t i = 0; i < n; i++)
                if (columns[i].shown && columns[i].width > columns[i].least &&
                                (!found || columns[i].width >= found->width))
                        found = &columns[i];
        return found;
}

void columns_fit(FitColumn *columns, size_t n, unsigned screen) {
        FitColumn *column;

        while (width_of(columns, n, true) > screen && (column = next_spare(columns, n)))
                column->shown = false;
        while (width_of(columns, n, false) > screen && (column = widest_text(columns, n)))
                column->width--;
}

/* A column of texts keeps at least TEXT_LEAST characters, or the width of its heading. */
#define TEXT_LEAST      8u
#define WRAPPED_LEAST   40u
#define WRAPPED_LONGEST 80u

typedef struct Column {
        const char *heading, *name;
        ColumnKind kind;
        unsigned spare; /* see FitColumn */
} Column;

typedef struct Cell {
        char *text;
        JsonNode *node;
} Cell;

struct Table {
        GArray *columns; /* Columns */
        GArray *cells;   /* Cells */
        unsigned n_spare;
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
        Column column = { heading, name, kind, 0 };

        g_assert(table->cells->len == 0);
        g_array_append_val(table->columns, column);
}

void table_spare(Table *table, const char *name) {
        for (guint i = 0; i < table->columns->len; i++) {
                Column *column = &g_array_index(table->columns, Column, i);

                if (g_strcmp0(column->name, name) == 0)
                        column->spare = ++table->n_spare;
        }
}

static void table_cell(Table *table, char *text, JsonNode *node) {
        Cell cell = { text, node };

        g_array_append_val(table->cells, cell);
}

void table_string(Table *table, const char *value) {
        table_cell(table, g_utf8_make_valid(value, -1), json_word(value));
}

char *user_called(uint32_t uid) {
        const struct passwd *entry = getpwuid(uid);

        return entry ? g_strdup(entry->pw_name) : g_strdup_printf("%u", uid);
}

void table_user(Table *table, uint32_t uid) {
        g_autofree char *called = user_called(uid);

        table_string(table, called);
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

void table_shown(Table *table, const char *text, JsonNode *node) {
        table_cell(table, g_utf8_make_valid(text, -1), node);
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

                for (size_t i = 0; i < table->columns->len; i++) {
                        const char *name = g_array_index(table->columns, Column, i).name;

                        if (name)
                                json_object_set_member(
                                                object, name, json_node_ref(cell_at(table, row, i)->node));
                }
                json_array_add_object_element(array, object);
        }
        json_array_unref(array);
        return node;
}

static unsigned text_width(const char *text) {
        unsigned width = 0;

        for (const char *p = text; *p; p = g_utf8_next_char(p)) {
                gunichar c = g_utf8_get_char(p);

                if (!g_unichar_iszerowidth(c))
                        width += g_unichar_iswide(c) ? 2 : 1;
        }
        return width;
}

/* Cuts a text to the characters that fit; the last one shows that there are more. */
static char *text_cut(const char *text, unsigned width) {
        const char *more = sanitise_locale_is_utf8() ? "…" : "~", *p = text;
        unsigned left = width > 0 ? width - 1 : 0;

        if (text_width(text) <= width)
                return g_strdup(text);
        for (; *p; p = g_utf8_next_char(p)) {
                gunichar c = g_utf8_get_char(p);
                unsigned n = g_unichar_iswide(c) ? 2 : 1;

                if (g_unichar_iszerowidth(c))
                        continue;
                if (n > left)
                        break;
                left -= n;
        }
        return g_strdup_printf("%.*s%s", (int) (p - text), text, more);
}

static bool column_is_empty(const Table *table, size_t column) {
        for (size_t row = 0; row < table_rows(table); row++)
                if (cell_at(table, row, column)->text[0])
                        return false;
        return true;
}

static bool column_is_shown(const Table *table, size_t i) {
        switch (g_array_index(table->columns, Column, i).kind) {
        case COLUMN_JSON: return false;
        case COLUMN_MEASURED: return screen_columns() == 0 || !column_is_empty(table, i);
        case COLUMN_TEXT:
        case COLUMN_NUMBER: break;
        }
        return true;
}

static FitColumn *measure(const Table *table, const Options *options) {
        FitColumn *fit = g_new0(FitColumn, table->columns->len);

        for (guint i = 0; i < table->columns->len; i++) {
                const Column *column = &g_array_index(table->columns, Column, i);
                unsigned heading = options->no_legend ? 0 : text_width(column->heading);

                fit[i] = (FitColumn){
                        .width = heading, .spare = column->spare, .shown = column_is_shown(table, i)
                };
                for (size_t row = 0; row < table_rows(table); row++)
                        fit[i].width = MAX(fit[i].width, text_width(cell_at(table, row, i)->text));
                fit[i].least = fit[i].width;
                /* Users type words of the first column, such as job numbers, so it is never shortened. */
                if (column->kind == COLUMN_TEXT && i > 0)
                        fit[i].least = MIN(fit[i].width, MAX(heading, TEXT_LEAST));
        }
        return fit;
}

static struct libscols_table *table_to_scols(const Table *table, const Options *options) {
        struct libscols_table *scols = scols_new_table();
        g_autofree FitColumn *fit = measure(table, options);

        if (!scols)
                return NULL;
        if (screen_columns() > 0)
                columns_fit(fit, table->columns->len, screen_columns());
        (void) scols_table_enable_noheadings(scols, options->no_legend);
        for (size_t i = 0; i < table->columns->len; i++) {
                const Column *column = &g_array_index(table->columns, Column, i);
                int flags = column->kind == COLUMN_TEXT ? 0 : SCOLS_FL_RIGHT;

                if (!fit[i].shown)
                        flags = SCOLS_FL_HIDDEN;
                (void) scols_table_new_column(scols, column->heading, 0, flags);
        }
        for (size_t row = 0; row < table_rows(table); row++) {
                struct libscols_line *line = scols_table_new_line(scols, NULL);

                for (size_t i = 0; line && i < table->columns->len; i++) {
                        g_autofree char *text = text_cut(cell_at(table, row, i)->text, fit[i].width);

                        (void) scols_line_set_data(line, i, text);
                }
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

void table_page(const Table *table, const Options *options, const char *noun) {
        pager_open(options);
        table_print(table, options, noun);
        pager_close();
}

static void wrap(const char *first, const char *rest, const char *text, unsigned longest) {
        g_auto(GStrv) words = g_strsplit(text, " ", -1);
        unsigned column = text_width(first);

        printf("%s", first);
        for (char **word = words; *word; word++) {
                bool breaks = word > words && column + 1 + text_width(*word) > longest;

                if (breaks) {
                        printf("\n%s", rest);
                        column = text_width(rest);
                } else if (word > words) {
                        printf(" ");
                        column++;
                }
                printf("%s", *word);
                column += text_width(*word);
        }
        printf("\n");
}

void print_wrapped(const char *first, const char *rest, const char *text) {
        unsigned screen = screen_columns() > 0 ? screen_columns() : WRAPPED_LONGEST;
        g_autofree char *valid = g_utf8_make_valid(text, -1);

        wrap(first, rest, valid, CLAMP(screen, WRAPPED_LEAST, WRAPPED_LONGEST));
}

void print_wrapped_lines(const char *text) {
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

        for (char **line = lines; *line && **line; line++)
                print_wrapped("", "  ", *line);
}

void print_line(unsigned indent, const char *format, ...) {
        g_autofree char *text = NULL, *valid = NULL, *rest = g_strnfill(indent, ' ');
        va_list arguments;

        va_start(arguments, format);
        text = g_strdup_vprintf(format, arguments);
        va_end(arguments);
        valid = g_utf8_make_valid(text, -1);
        wrap("", rest, valid, screen_columns() > 0 ? MAX(screen_columns(), WRAPPED_LEAST) : UINT_MAX);
}

#define LAYOUT_COLUMNS 80u

/* Where the last column of a line begins: behind its last gap of two spaces. */
static size_t last_column(const char *line) {
        size_t column = 0;

        for (size_t i = 2; line[0] && line[1] && line[i]; i++)
                if (line[i] != ' ' && line[i - 1] == ' ' && line[i - 2] == ' ')
                        column = i;
        return column;
}

/* Whether the line is part of a paragraph, not of a list. */
static bool flows(const char *line) {
        return line && line[0] && line[0] != ' ' && last_column(line) == 0;
}

void print_layout(const char *format, ...) {
        unsigned screen = screen_columns(), longest = screen > 0 ? MAX(screen, WRAPPED_LEAST) : UINT_MAX;
        g_autofree char *text = NULL;
        g_auto(GStrv) lines = NULL;
        va_list arguments;

        va_start(arguments, format);
        text = g_strdup_vprintf(format, arguments);
        va_end(arguments);
        if (g_str_has_suffix(text, "\n"))
                text[strlen(text) - 1] = '\0';
        lines = g_strsplit(text, "\n", -1);
        for (char **line = lines; *line; line++) {
                g_autofree char *rest = g_strnfill(last_column(*line), ' ');
                g_autoptr(GString) whole = g_string_new(*line);

                while (longest < LAYOUT_COLUMNS && flows(*line) && flows(line[1]))
                        g_string_append_printf(whole, " %s", *++line);
                wrap("", rest, whole->str, longest);
        }
}
