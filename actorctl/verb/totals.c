/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* totals: prints the costs and work of ended jobs, by user, month, tag and price sheet. */
#include <stdio.h>

#include "actorctl/bus.h"
#include "actorctl/view/table.h"
#include "include/bus.h"
#include "lib/cleanup.h"

static int read_totals(sd_bus_message *m, Table *table) {
        const char *month, *tag, *currency, *sheet;
        uint64_t n_jobs, n_env_steps, cpu_nsec;
        double full, paper;
        uint32_t uid;
        int r;

        r = sd_bus_message_enter_container(m, 'a', "(ussssddttt)");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_read(m, "(ussssddttt)", &uid, &month, &tag, &currency, &sheet, &full,
                                &paper, &n_jobs, &n_env_steps, &cpu_nsec)) > 0) {
                table_string(table, month);
                table_user(table, uid);
                table_unsigned(table, uid);
                table_string(table, tag);
                table_unsigned(table, n_jobs);
                table_real(table, full, "%.6f");
                table_real(table, paper, "%.6f");
                table_string(table, currency);
                table_string(table, sheet);
                table_unsigned(table, n_env_steps);
                table_real(table, (double) cpu_nsec / 1e9, "%.3f");
        }
        return r;
}

ExitStatus verb_totals(const Options *options, char **arguments, size_t n) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        g_autoptr(Connection) connection = NULL;
        g_autoptr(Table) table = table_new();

        if (connection_open(options, &connection) < 0 ||
                        connection_call(connection, BUS_PATH, BUS_INTERFACE_MANAGER, "GetTotals", &reply,
                                        NULL) < 0)
                return STATUS_FAILED;
        table_column(table, "MONTH", "month", COLUMN_TEXT);
        table_column(table, "USER", "user", COLUMN_TEXT);
        table_column(table, "UID", "uid", COLUMN_JSON);
        table_column(table, "TAG", "tag", COLUMN_TEXT);
        table_column(table, "JOBS", "jobs", COLUMN_NUMBER);
        table_column(table, "FULL", "full", COLUMN_NUMBER);
        table_column(table, "PAPER", "paper", COLUMN_NUMBER);
        table_column(table, "IN", "currency", COLUMN_TEXT);
        table_column(table, "SHEET", "price_sheet", COLUMN_TEXT);
        table_column(table, "STEPS", "env_steps", COLUMN_NUMBER);
        table_column(table, "CPU S", "cpu_s", COLUMN_NUMBER);
        if (read_totals(reply, table) < 0) {
                complain("the totals cannot be read");
                return STATUS_FAILED;
        }
        table_page(table, options, "total");
        return STATUS_OK;
}
