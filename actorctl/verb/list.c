/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* list: prints the jobs that the daemon remembers; with options that choose, any jobs of its ledger. */
#include <errno.h>
#include <pwd.h>
#include <string.h>

#include "actorctl/bus.h"
#include "actorctl/view/pager.h"
#include "actorctl/view/table.h"
#include "include/bus.h"
#include "lib/cleanup.h"

#define PAGE_ROWS 500u

/* The columns that both lists share. */
static void add_cells(Table *table, uint64_t id, uint32_t uid, const char *state, const char *result,
                const char *environment, const char *description) {
        table_unsigned(table, id);
        table_user(table, uid);
        table_string(table, state);
        table_string(table, strcmp(state, "ended") == 0 ? result : "");
        table_string(table, environment);
        table_string(table, description);
}

static int read_jobs(sd_bus_message *m, Table *table) {
        const char *state, *result, *environment, *description, *path;
        uint64_t id;
        uint32_t uid;
        int r;

        r = sd_bus_message_enter_container(m, 'a', "(tusssso)");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_read(m, "(tusssso)", &id, &uid, &state, &result, &environment,
                                &description, &path)) > 0)
                add_cells(table, id, uid, state, result, environment, description);
        return r;
}

static int remembered(Connection *connection, Table *table) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int r;

        r = connection_call(connection, BUS_PATH, BUS_INTERFACE_MANAGER, "ListJobs", &reply, NULL);
        if (r < 0)
                return r;
        r = read_jobs(reply, table);
        if (r < 0)
                complain("the list of jobs cannot be read: %s", g_strerror(-r));
        return r;
}

/* A row of ListJobsFiltered. Rows come newest first, so they are kept and printed in reverse. */
typedef struct Row {
        uint64_t id, submitted_usec, started_usec, ended_usec, n_rounds, n_env_steps;
        uint32_t uid;
        char *state, *result, *environment, *description, *tag, *currency;
        double return_mean, cost;
} Row;

static void row_clear(gpointer p) {
        Row *row = p;

        g_free(row->state);
        g_free(row->result);
        g_free(row->environment);
        g_free(row->description);
        g_free(row->tag);
        g_free(row->currency);
}

static int read_rows(sd_bus_message *m, GArray *rows, uint64_t *ret_next) {
        const char *state, *result, *environment, *description, *tag, *currency, *path;
        Row row;
        int r;

        r = sd_bus_message_enter_container(m, 'a', "(tussssstttttddso)");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_read(m, "(tussssstttttddso)", &row.id, &row.uid, &state, &result,
                                &environment, &description, &tag, &row.submitted_usec, &row.started_usec,
                                &row.ended_usec, &row.n_rounds, &row.n_env_steps, &row.return_mean,
                                &row.cost, &currency, &path)) > 0) {
                row.state = g_strdup(state);
                row.result = g_strdup(result);
                row.environment = g_strdup(environment);
                row.description = g_strdup(description);
                row.tag = g_strdup(tag);
                row.currency = g_strdup(currency);
                g_array_append_val(rows, row);
        }
        if (r < 0)
                return r;
        r = sd_bus_message_exit_container(m);
        return r < 0 ? r : sd_bus_message_read(m, "t", ret_next);
}

static int owner_uid(const char *owner, uint32_t *ret) {
        const struct passwd *entry = getpwnam(owner);
        uint64_t uid;

        if (entry)
                *ret = entry->pw_uid;
        else if (g_ascii_string_to_unsigned(owner, 10, 0, UINT32_MAX, &uid, NULL))
                *ret = (uint32_t) uid;
        else {
                complain("--owner=%s: there is no such user", owner);
                return -EINVAL;
        }
        return 0;
}

static int append_states(sd_bus_message *m, const char *words) {
        g_auto(GStrv) states = g_strsplit(words, ",", 0);
        int r;

        r = sd_bus_message_open_container(m, 'e', "sv");
        if (r < 0)
                return r;
        r = sd_bus_message_append(m, "s", "states");
        if (r < 0)
                return r;
        r = sd_bus_message_open_container(m, 'v', "as");
        if (r < 0)
                return r;
        r = sd_bus_message_append_strv(m, states);
        if (r < 0)
                return r;
        r = sd_bus_message_close_container(m);
        return r < 0 ? r : sd_bus_message_close_container(m);
}

static int append_filter(sd_bus_message *m, const Options *options, const uint32_t *owner) {
        int r;

        r = sd_bus_message_open_container(m, 'a', "{sv}");
        if (r < 0)
                return r;
        if (owner) {
                r = sd_bus_message_append(m, "{sv}", "user", "u", *owner);
                if (r < 0)
                        return r;
        }
        if (options->since_usec > 0) {
                r = sd_bus_message_append(m, "{sv}", "since", "t", options->since_usec);
                if (r < 0)
                        return r;
        }
        if (options->tag) {
                r = sd_bus_message_append(m, "{sv}", "tag", "s", options->tag);
                if (r < 0)
                        return r;
        }
        if (options->state_file) {
                r = append_states(m, options->state_file);
                if (r < 0)
                        return r;
        }
        return sd_bus_message_close_container(m);
}

/* 0; or a negative errno, with a message. */
static int fetch_page(Connection *connection, const Options *options, uint64_t after, uint32_t most,
                GArray *rows, uint64_t *ret_next) {
        uint32_t owner = 0;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL, *reply = NULL;
        int r;

        if (options->owner && owner_uid(options->owner, &owner) < 0)
                return -EINVAL;
        r = sd_bus_message_new_method_call(connection->bus, &call, connection->destination, BUS_PATH,
                        BUS_INTERFACE_MANAGER, "ListJobsFiltered");
        g_assert(r >= 0);
        r = append_filter(call, options, options->owner ? &owner : NULL);
        g_assert(r >= 0);
        r = sd_bus_message_append(call, "tu", after, most);
        g_assert(r >= 0);
        r = connection_send(connection, call, &reply);
        if (r < 0)
                return r;
        r = read_rows(reply, rows, ret_next);
        if (r < 0)
                complain("the list of jobs cannot be read: %s", g_strerror(-r));
        return r;
}

static void add_row(Table *table, const Row *row) {
        add_cells(table, row->id, row->uid, row->state, row->result, row->environment, row->description);
        table_unsigned(table, row->n_env_steps);
        table_real(table, row->return_mean, "%.2f");
        table_real(table, row->cost, "%.6f");
        table_string(table, row->currency);
        table_string(table, row->tag);
        table_unsigned(table, row->n_rounds);
        table_unsigned(table, row->submitted_usec);
        table_unsigned(table, row->started_usec);
        table_unsigned(table, row->ended_usec);
}

static int chosen(Connection *connection, const Options *options, Table *table) {
        g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(Row));
        uint64_t next = 0, most = options->n_lines > 0 ? options->n_lines : UINT64_MAX;

        g_array_set_clear_func(rows, row_clear);
        do {
                uint32_t page = (uint32_t) MIN(most - rows->len, PAGE_ROWS);
                int r = fetch_page(connection, options, next, page, rows, &next);

                if (r < 0)
                        return r;
        } while (next > 0 && rows->len < most);

        table_column(table, "STEPS", "env_steps", COLUMN_NUMBER);
        table_column(table, "RETURN", "return_mean", COLUMN_NUMBER);
        table_column(table, "COST", "cost", COLUMN_NUMBER);
        table_column(table, "", "currency", COLUMN_TEXT);
        table_column(table, "TAG", "tag", COLUMN_JSON);
        table_column(table, "ROUNDS", "rounds", COLUMN_JSON);
        table_column(table, "SUBMITTED", "submitted_usec", COLUMN_JSON);
        table_column(table, "STARTED", "started_usec", COLUMN_JSON);
        table_column(table, "ENDED", "ended_usec", COLUMN_JSON);
        for (guint i = rows->len; i-- > 0;)
                add_row(table, &g_array_index(rows, Row, i));
        return 0;
}

static bool chooses(const Options *options) {
        return options->all || options->state_file || options->owner || options->tag ||
               options->since_usec > 0 || options->n_lines > 0;
}

ExitStatus verb_list(const Options *options, char **arguments, size_t n) {
        g_autoptr(Connection) connection = NULL;
        g_autoptr(Table) table = table_new();
        int r;

        if (connection_open(options, &connection) < 0)
                return STATUS_FAILED;
        table_column(table, "JOB", "job", COLUMN_NUMBER);
        table_column(table, "USER", "user", COLUMN_TEXT);
        table_column(table, "STATE", "state", COLUMN_TEXT);
        table_column(table, "RESULT", "result", COLUMN_TEXT);
        table_column(table, "ENVIRONMENT", "environment", COLUMN_TEXT);
        table_column(table, "DESCRIPTION", "description", COLUMN_TEXT);
        table_spare(table, "description");
        r = chooses(options) ? chosen(connection, options, table) : remembered(connection, table);
        if (r < 0)
                return status_of_error(r);
        pager_open(options);
        table_print(table, options, "job");
        pager_close();
        return STATUS_OK;
}
