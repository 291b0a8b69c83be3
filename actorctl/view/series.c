/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prints rows of numbers (rounds, decisions). A screen gets a few columns, programs get all. */
#include "actorctl/view/series.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "actorctl/job-open.h"
#include "actorctl/job-rounds.h"
#include "actorctl/view/pager.h"
#include "actorctl/view/screen.h"
#include "actorctl/view/table.h"
#include "actorctl/view/why.h"
#include "include/bus.h"
#include "lib/cleanup.h"
#include "lib/sanitise.h"

ExitStatus series_open(
                const Options *options, const char *job, Connection **ret_connection, char **ret_path) {
        if (options->csv && options->json != JSON_OFF) {
                complain("--csv and --json cannot be used together");
                return STATUS_USAGE;
        }
        return job_open(options, job, ret_connection, ret_path);
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

        if (g_str_has_prefix(name, "metric_")) {
                g_autofree char *upper = g_ascii_strup(name + strlen("metric_"), -1);

                /* The table keeps this pointer, so the string is never freed. An environment has at most
                 * eight metrics. */
                table_column(table, g_intern_string(upper), name, COLUMN_MEASURED);
                return;
        }
        table_column(table, heading ? heading : name, name, heading ? COLUMN_MEASURED : COLUMN_JSON);
}

static void add_cell(Table *table, const SeriesColumn *known, const char *name, double value) {
        const SeriesColumn *column = column_find(known, name);

        if (column && !column->format && value >= 0 && value < 0x1p53)
                table_unsigned(table, (uint64_t) value);
        else
                table_real(table, value, column && column->format ? column->format : "%g");
}

/* A number that was not measured is an empty cell. */
static void print_csv_number(double value) {
        g_autoptr(GString) text = g_string_new(NULL);

        if (!isfinite(value))
                return;
        append_exact(text, value);
        fputs(text->str, stdout);
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

typedef struct Printer {
        const Options *options;
        const SeriesKind *kind;
        GStrv names;     /* NULL: before the first answer */
        GString *words;  /* what kind->words() says of the rows, as lines */
        Table *table;    /* NULL: rows are printed as CSV as they arrive */
        uint64_t round;  /* of the last row */
        uint32_t n_rows; /* of the last answer */
} Printer;

/* Reads the names of the columns. They must be the same in all answers, since the answers form one table. */
static int read_names(Printer *p, sd_bus_message *m) {
        g_auto(GStrv) names = NULL;
        int r;

        r = sd_bus_message_read_strv(m, &names);
        if (r < 0)
                return r;
        if (!names)
                return -EBADMSG;
        if (p->names)
                return g_strv_equal((const char *const *) p->names, (const char *const *) names) ? 0
                                                                                                 : -EBADMSG;
        p->names = g_steal_pointer(&names);
        pager_open(p->options);
        if (p->options->csv && !p->options->no_legend)
                print_csv_row(p->names, NULL, g_strv_length(p->names));
        for (size_t i = 0; p->table && p->names[i]; i++)
                add_column(p->table, p->kind->columns, p->names[i]);
        return 0;
}

/* The width of the texts below the table, in characters: the terminal's or, without a terminal, COLUMNS=; 80
 * if that is not known or below 40, and at most 120. */
static unsigned words_columns(void) {
        const char *said = g_getenv("COLUMNS");
        unsigned columns = screen_columns();

        if (columns == 0 && said)
                columns = (unsigned) MIN(g_ascii_strtoull(said, NULL, 10), 120u);
        return columns < 40 ? 80 : MIN(columns, 120u);
}

static void add_words(Printer *p, const double *row) {
        g_autofree char *words = NULL, *first = NULL;

        if (!p->words)
                return;
        words = p->kind->words(p->names, row, sanitise_locale_is_utf8());
        if (!words)
                return;
        first = g_strdup_printf("round %" G_GUINT64_FORMAT ": ", p->round);
        text_wrap(p->words, first, words, words_columns());
}

static int read_rows(Printer *p, sd_bus_message *m) {
        size_t n = g_strv_length(p->names), bytes;
        int r, round = bus_column(p->names, "round");
        const void *row;

        if (round < 0)
                return round;
        r = sd_bus_message_enter_container(m, 'a', "ad");
        if (r < 0)
                return r;
        for (p->n_rows = 0; (r = sd_bus_message_at_end(m, false)) == 0; p->n_rows++) {
                const double *values;

                r = sd_bus_message_read_array(m, 'd', &row, &bytes);
                if (r < 0)
                        return r;
                values = row;
                /* Rounds must ascend: otherwise the requests would never end. */
                if (bytes != n * sizeof(double) || !(values[round] > (double) p->round) ||
                                !(values[round] < 0x1p53))
                        return -EBADMSG;
                p->round = (uint64_t) values[round];
                add_words(p, values);
                if (!p->table)
                        print_csv_row(p->names, values, n);
                for (size_t i = 0; p->table && i < n; i++)
                        add_cell(p->table, p->kind->columns, p->names[i], values[i]);
        }
        return r < 0 ? r : 0;
}

static int read_part(Printer *p, sd_bus_message *m) {
        int r;

        r = read_names(p, m);
        if (r < 0)
                return r;
        return read_rows(p, m);
}

/* Prints the rows of one answer. 0; or a negative errno, with a message. */
static int print_part(Printer *p, Connection *connection, const char *path) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int r;

        r = connection_call(connection, path, BUS_INTERFACE_JOB, p->kind->method, &reply, "tu", p->round,
                        p->kind->most);
        if (r < 0)
                return r;
        r = read_part(p, reply);
        if (r < 0)
                complain("the %ss cannot be read: %s", p->kind->what, g_strerror(-r));
        return r;
}

static int print_parts(Printer *p, Connection *connection, const char *path) {
        int r;

        do {
                r = print_part(p, connection, path);
                if (r < 0)
                        return r;
        } while (p->kind->until_fewer && p->n_rows == p->kind->most);
        if (p->table)
                table_print(p->table, p->options, p->kind->what);
        if (p->words && p->words->len > 0)
                printf("\n%s", p->words->str);
        return 0;
}

ExitStatus series_print(
                const Options *options, Connection *connection, const char *path, const SeriesKind *kind) {
        g_autoptr(Table) table = options->csv ? NULL : table_new();
        g_autoptr(GString) words =
                        kind->words && table && options->json == JSON_OFF ? g_string_new(NULL) : NULL;
        Printer p = { .options = options, .kind = kind, .table = table, .words = words };
        int r;

        r = print_parts(&p, connection, path);
        if (p.names)
                pager_close();
        g_strfreev(p.names);
        return r < 0 ? STATUS_FAILED : STATUS_OK;
}
