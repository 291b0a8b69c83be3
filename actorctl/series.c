/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A screen gets a few columns, programs get all of them, whatever they are. */
#include "actorctl/series.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "actorctl/pager.h"
#include "actorctl/table.h"

ExitStatus series_check_options(const Options *options) {
        if (options->csv && options->json != JSON_OFF) {
                complain("--csv and --json exclude each other");
                return STATUS_USAGE;
        }
        return STATUS_OK;
}

static const SeriesColumn *column_find(const SeriesColumn *known, const char *name) {
        for (; known->name; known++)
                if (strcmp(known->name, name) == 0)
                        return known;
        return NULL;
}

static void add_column(Table *table, const SeriesColumn *known, const char *name) {
        const SeriesColumn *column = column_find(known, name);
        const char *heading = column ? column->heading : NULL;

        table_column(table, heading ? heading : name, name, heading ? COLUMN_NUMBER : COLUMN_JSON);
}

static void add_cell(Table *table, const SeriesColumn *known, const char *name, double value) {
        const SeriesColumn *column = column_find(known, name);

        if (column && !column->format && value >= 0 && value < 0x1p53)
                table_unsigned(table, (uint64_t) value);
        else
                table_real(table, value, column && column->format ? column->format : "%g");
}

/* The fewest digits that read back as the same number. What was not measured is an empty cell. */
static void print_csv_number(double value) {
        char text[G_ASCII_DTOSTR_BUF_SIZE];

        if (!isfinite(value))
                return;
        (void) g_ascii_formatd(text, sizeof(text), "%.15g", value);
        if (g_ascii_strtod(text, NULL) != value)
                (void) g_ascii_dtostr(text, sizeof(text), value);
        fputs(text, stdout);
}

static void print_csv_row(char *const *names, const double *row, size_t n) {
        for (size_t i = 0; i < n; i++) {
                if (i > 0)
                        putchar(',');
                if (row)
                        print_csv_number(row[i]);
                else
                        fputs(names[i], stdout);
        }
        putchar('\n');
}

/* Each row as it comes: into the table, or without one onto standard output. */
static int read_rows(sd_bus_message *m, const SeriesColumn *known, char *const *names, Table *table) {
        size_t n = g_strv_length((char **) names), bytes;
        const void *row;
        int r;

        r = sd_bus_message_enter_container(m, 'a', "ad");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_at_end(m, false)) == 0) {
                r = sd_bus_message_read_array(m, 'd', &row, &bytes);
                if (r < 0)
                        return r;
                if (bytes != n * sizeof(double))
                        return -EBADMSG;
                if (!table)
                        print_csv_row(names, row, n);
                for (size_t i = 0; table && i < n; i++)
                        add_cell(table, known, names[i], ((const double *) row)[i]);
        }
        return r < 0 ? r : 0;
}

ExitStatus series_print(
                const Options *options, sd_bus_message *reply, const SeriesColumn *known, const char *what) {
        g_autoptr(Table) table = options->csv ? NULL : table_new();
        g_auto(GStrv) names = NULL;
        int r;

        r = sd_bus_message_read_strv(reply, &names);
        if (r < 0 || !names) {
                complain("the %ss cannot be read: %s", what, g_strerror(r < 0 ? -r : EBADMSG));
                return STATUS_FAILED;
        }
        pager_open(options);
        if (options->csv && !options->no_legend)
                print_csv_row(names, NULL, g_strv_length(names));
        for (size_t i = 0; table && names[i]; i++)
                add_column(table, known, names[i]);
        r = read_rows(reply, known, names, table);
        if (r >= 0 && table)
                table_print(table, options, what);
        pager_close();
        if (r < 0) {
                complain("the %ss cannot be read: %s", what, g_strerror(-r));
                return STATUS_FAILED;
        }
        return STATUS_OK;
}
