/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Columns are found by their names, since later versions of the daemon may have more columns. */
#include "actorctl/job-rounds.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "include/bus.h"
#include "lib/cleanup.h"

static int read_rows(sd_bus_message *message, size_t n_columns, GArray *values) {
        int r;

        r = sd_bus_message_enter_container(message, 'a', "ad");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_at_end(message, false)) == 0) {
                const void *row;
                size_t bytes;

                r = sd_bus_message_read_array(message, 'd', &row, &bytes);
                if (r < 0)
                        return r;
                if (bytes != n_columns * sizeof(double))
                        return -EBADMSG;
                g_array_append_vals(values, row, (guint) n_columns);
        }
        return r < 0 ? r : 0;
}

/* Whether the names have only plain characters: they go into files of several formats unchanged, and the
 * daemon may belong to another user. */
static bool are_plain(char *const *names) {
        for (; *names; names++)
                if (!**names || (*names)[strspn(*names, G_CSET_a_2_z G_CSET_DIGITS "_")])
                        return false;
        return true;
}

int job_rounds_read(sd_bus_message *message, JobRounds *ret) {
        g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(double));
        g_auto(GStrv) names = NULL;
        size_t n_columns;
        int r;

        g_assert(message);
        g_assert(ret);

        r = sd_bus_message_read_strv(message, &names);
        if (r < 0)
                return r;
        if (!names || !names[0] || !are_plain(names))
                return -EBADMSG;
        n_columns = g_strv_length(names);
        r = read_rows(message, n_columns, values);
        if (r < 0)
                return r;
        ret->n = values->len / n_columns;
        ret->n_columns = n_columns;
        ret->names = g_steal_pointer(&names);
        ret->values = (double *) g_array_free(g_steal_pointer(&values), FALSE);
        return 0;
}

int job_rounds_ask(Connection *connection, const char *path, uint64_t after, uint32_t most, JobRounds *ret) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int r;

        r = sd_bus_call_method(connection->bus, connection->destination, path, BUS_INTERFACE_JOB,
                        "GetSeries", NULL, &reply, "tu", after, most);
        return r < 0 ? r : job_rounds_read(reply, ret);
}

int job_rounds_fetch(
                Connection *connection, const char *path, uint64_t after, uint32_t most, JobRounds *ret) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int r;

        r = connection_call(connection, path, BUS_INTERFACE_JOB, "GetSeries", &reply, "tu", after, most);
        if (r < 0)
                return r;
        r = job_rounds_read(reply, ret);
        if (r < 0)
                complain("the rounds cannot be read: %s", g_strerror(-r));
        return r;
}

void job_rounds_done(JobRounds *rounds) {
        g_clear_pointer(&rounds->names, g_strfreev);
        g_clear_pointer(&rounds->values, g_free);
        rounds->n = rounds->n_columns = 0;
}

int job_rounds_column(const JobRounds *rounds, const char *name) {
        for (size_t i = 0; i < rounds->n_columns; i++)
                if (strcmp(rounds->names[i], name) == 0)
                        return (int) i;
        return -1;
}

double job_rounds_at(const JobRounds *rounds, size_t row, const char *name) {
        int column = job_rounds_column(rounds, name);

        g_assert(row < rounds->n);
        return column < 0 ? NAN : rounds->values[row * rounds->n_columns + (size_t) column];
}

void append_exact(GString *text, double value) {
        char digits[G_ASCII_DTOSTR_BUF_SIZE];

        g_assert(isfinite(value));
        (void) g_ascii_formatd(digits, sizeof(digits), "%.15g", value);
        if (g_ascii_strtod(digits, NULL) != value)
                (void) g_ascii_dtostr(digits, sizeof(digits), value);
        g_string_append(text, digits);
}
