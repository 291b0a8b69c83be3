/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One table, printed as text or as JSON. */
#pragma once

#include <stddef.h>
#include <stdbool.h>
#include "actorctl/actorctl.h"
#include "actorctl/view/json.h"

typedef struct Table Table;

/* COLUMN_JSON: a column only in JSON. COLUMN_MEASURED: numbers; if no row has a number, a terminal does not
 * show the column. */
typedef enum ColumnKind { COLUMN_TEXT, COLUMN_NUMBER, COLUMN_MEASURED, COLUMN_JSON } ColumnKind;

Table *table_new(void);
Table *table_free(Table *table);

/* Adds a column, before the first cell. heading: upper case, for people; name: for programs, NULL: the
 * column is not in JSON. Both texts must outlive the table. */
void table_column(Table *table, const char *heading, const char *name, ColumnKind kind);

/* Names a column that a narrow terminal does not show. Columns that are named earlier are left out first. */
void table_spare(Table *table, const char *name);

/* A user's name, or the number of a user without a name; g_free(). */
char *user_called(uint32_t uid);

/* Add the next cell, row by row. A number that is not finite becomes empty, or null. */
void table_string(Table *table, const char *value);
void table_user(Table *table, uint32_t uid);
void table_unsigned(Table *table, uint64_t value);
void table_real(Table *table, double value, const char *format);
void table_bool(Table *table, bool value);
/* A cell whose text differs from its value. The table owns the node. */
void table_shown(Table *table, const char *text, JsonNode *node);

/* Prints to standard output. noun ("job"): for the footer; NULL: there is none. */
void table_print(const Table *table, const Options *options, const char *noun);
/* Like table_print(), in a pager of its own. */
void table_page(const Table *table, const Options *options, const char *noun);

/* The rows as an array of objects, for use in a larger JSON object. */
JsonNode *table_to_json(const Table *table);

/* Prints a sentence to standard output in lines of at most 80 columns, or fewer (at least 40) if the
 * terminal is narrower. The first line begins with `first`, the others with `rest`. */
void print_wrapped(const char *first, const char *rest, const char *text);

/* Like print_wrapped(), for each line of a text, up to the first empty one. Continuation lines are
 * indented. */
void print_wrapped_lines(const char *text);

/* Prints a line to standard output. If it is longer than the terminal is wide, the rest follows on lines
 * that begin with `indent` spaces. */
void print_line(unsigned indent, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints lines that were laid out for 80 columns, such as those of a help. On a narrower terminal a line
 * goes on below its last column, and paragraphs are filled anew. */
void print_layout(const char *format, ...) __attribute__((format(printf, 1, 2)));

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Table, table_free)

/* The columns of a table that a narrow screen shows, and their widths. */
typedef struct FitColumn {
        unsigned width, least; /* its widest cell; the width to which its texts may be cut */
        unsigned spare; /* columns with spare = 1 are left out first, then those with 2, …; last, 0 */
        bool shown;
} FitColumn;

/* Fits the shown columns, with one space between them, into `screen`. Texts are shortened first, beginning
 * with the widest. If that is not enough, columns are left out: first those with `spare`, in its order, then
 * the last one, but never the first. */
void columns_fit(FitColumn *columns, size_t n, unsigned screen);
