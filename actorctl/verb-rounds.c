/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* rounds: everything that is known of a job's rounds. A screen gets a few columns, programs get all of them, whatever they are. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "actorctl/bus.h"
#include "actorctl/pager.h"
#include "actorctl/table.h"
#include "include/bus.h"
#include "lib/cleanup.h"

#define ROUNDS_MOST 10000u

/* Columns that are more than a number for programs. heading NULL: not for the screen; format NULL: a whole number. */
static const struct {
        const char *name, *heading, *format;
} known[] = {
        { "round", "ROUND", NULL },
        { "actors", "ACTORS", NULL },
        { "env_steps", "STEPS", NULL },
        { "episodes", NULL, NULL },
        { "policy_version", NULL, NULL },
        { "return_mean", "RETURN", "%.2f" },
        { "evaluation_mean", "EVALUATION", "%.2f" },
        { "kl", "KL", "%.4f" },
        { "emulated_s", "EMULATED S", "%.1f" },
        { "cost_full", "COST", "%.6f" },
};

static size_t known_index(const char *name) {
        size_t i;

        for (i = 0; i < G_N_ELEMENTS(known); i++)
                if (strcmp(known[i].name, name) == 0)
                        break;
        return i;
}

static void add_column(Table *table, const char *name) {
        size_t i = known_index(name);
        const char *heading = i < G_N_ELEMENTS(known) ? known[i].heading : NULL;

        table_column(table, heading ? heading : name, name, heading ? COLUMN_NUMBER : COLUMN_JSON);
}

static void add_cell(Table *table, const char *name, double value) {
        size_t i = known_index(name);

        if (i < G_N_ELEMENTS(known) && !known[i].format && value >= 0 && value < 0x1p53)
                table_unsigned(table, (uint64_t) value);
        else
                table_real(table, value,
                                i < G_N_ELEMENTS(known) && known[i].format ? known[i].format : "%g");
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
static int read_rows(sd_bus_message *m, char *const *names, Table *table) {
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
                        add_cell(table, names[i], ((const double *) row)[i]);
        }
        return r < 0 ? r : 0;
}

static ExitStatus print(const Options *options, sd_bus_message *reply) {
        g_autoptr(Table) table = options->csv ? NULL : table_new();
        g_auto(GStrv) names = NULL;
        int r;

        r = sd_bus_message_read_strv(reply, &names);
        if (r < 0 || !names) {
                complain("the rounds cannot be read: %s", g_strerror(r < 0 ? -r : EBADMSG));
                return STATUS_FAILED;
        }
        pager_open(options);
        if (options->csv && !options->no_legend)
                print_csv_row(names, NULL, g_strv_length(names));
        for (size_t i = 0; table && names[i]; i++)
                add_column(table, names[i]);
        r = read_rows(reply, names, table);
        if (r >= 0 && table)
                table_print(table, options, "round");
        pager_close();
        if (r < 0) {
                complain("the rounds cannot be read: %s", g_strerror(-r));
                return STATUS_FAILED;
        }
        return STATUS_OK;
}

ExitStatus verb_rounds(const Options *options, char **arguments, size_t n) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        g_autoptr(Connection) connection = NULL;
        g_autofree char *path = NULL;

        if (options->csv && options->json != JSON_OFF) {
                complain("--csv and --json exclude each other");
                return STATUS_USAGE;
        }
        if (job_path(arguments[0], NULL, &path) < 0)
                return STATUS_USAGE;
        if (connection_open(options, &connection) < 0)
                return STATUS_FAILED;
        if (connection_call(connection, path, BUS_INTERFACE_JOB, "GetSeries", &reply, "tu", UINT64_C(0),
                            ROUNDS_MOST) < 0)
                return STATUS_FAILED;
        return print(options, reply);
}
