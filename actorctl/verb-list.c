/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* list: every job that the daemon remembers. */
#include <pwd.h>
#include <string.h>

#include "actorctl/bus.h"
#include "actorctl/pager.h"
#include "actorctl/table.h"
#include "include/bus.h"
#include "lib/cleanup.h"

static char *user_name(uint32_t uid) {
        const struct passwd *entry = getpwuid(uid);

        return entry ? g_strdup(entry->pw_name) : g_strdup_printf("%u", uid);
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
                                &description, &path)) > 0) {
                g_autofree char *user = user_name(uid);

                table_unsigned(table, id);
                table_string(table, user);
                table_string(table, state);
                table_string(table, strcmp(state, "ended") == 0 ? result : "");
                table_string(table, environment);
                table_string(table, description);
        }
        return r;
}

ExitStatus verb_list(const Options *options, char **arguments, size_t n) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        g_autoptr(Connection) connection = NULL;
        g_autoptr(Table) table = table_new();
        int r;

        if (connection_open(options, &connection) < 0)
                return STATUS_FAILED;
        if (connection_call(connection, BUS_PATH, BUS_INTERFACE_MANAGER, "ListJobs", &reply, NULL) < 0)
                return STATUS_FAILED;
        table_column(table, "JOB", "job", COLUMN_NUMBER);
        table_column(table, "USER", "user", COLUMN_TEXT);
        table_column(table, "STATE", "state", COLUMN_TEXT);
        table_column(table, "RESULT", "result", COLUMN_TEXT);
        table_column(table, "ENVIRONMENT", "environment", COLUMN_TEXT);
        table_column(table, "DESCRIPTION", "description", COLUMN_TEXT);
        r = read_jobs(reply, table);
        if (r < 0) {
                complain("the list of jobs cannot be read: %s", g_strerror(-r));
                return STATUS_FAILED;
        }
        pager_open(options);
        table_print(table, options, "job");
        pager_close();
        return STATUS_OK;
}
