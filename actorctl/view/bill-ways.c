/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prints what a job would have cost in other ways, a row for each way. The daemon computes the amounts
 * (GetBeside()). Each row has an assumption, or a reason why it has no amounts. These are lines below the
 * table, since they are too long for a column. */
#include "actorctl/view/bill-ways.h"

#include <stdio.h>

#include "actorctl/view/pager.h"
#include "actorctl/view/table.h"
#include "include/bus.h"
#include "lib/cleanup.h"

typedef struct Way {
        const char *name, *price_sheet, *clock, *assumes, *unknown;
        double seconds, paper, full;
} Way;

static void columns(Table *table) {
        table_column(table, "AS", "as", COLUMN_TEXT);
        table_column(table, "PRICES", "price_sheet", COLUMN_TEXT);
        table_column(table, "TIME OF", "clock", COLUMN_TEXT);
        table_column(table, "TIME S", "time_s", COLUMN_NUMBER);
        table_column(table, "PAPER TOTAL", "paper", COLUMN_NUMBER);
        table_column(table, "FULL TOTAL", "full", COLUMN_NUMBER);
        table_column(table, "ASSUMES", "assumes", COLUMN_JSON);
        table_column(table, "UNKNOWN", "unknown", COLUMN_JSON);
}

static void add_way(Table *table, GString *lines, const Way *way) {
        table_string(table, way->name);
        table_string(table, way->price_sheet);
        table_string(table, way->clock);
        table_real(table, way->seconds, "%.6g");
        table_real(table, way->paper, "%.9f");
        table_real(table, way->full, "%.9f");
        table_string(table, way->assumes);
        table_string(table, way->unknown);
        if (*way->unknown)
                g_string_append_printf(lines, "%s: unknown: %s\n", way->name, way->unknown);
        else
                g_string_append_printf(lines, "%s: %s\n", way->name, way->assumes);
}

static int read_ways(sd_bus_message *m, Table *table, GString *lines) {
        Way way;
        int r;

        r = sd_bus_message_enter_container(m, 'a', "(sssdddss)");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_read(m, "(sssdddss)", &way.name, &way.price_sheet, &way.clock,
                                &way.seconds, &way.paper, &way.full, &way.assumes, &way.unknown)) > 0)
                add_way(table, lines, &way);
        return r;
}

static void print_text(const Options *options, const char *called, const char *currency, const Table *table,
                const GString *text) {
        print_line(0, "what the rounds of %s cost, in %s:", called, currency);
        printf("\n");
        table_print(table, options, NULL);
        printf("\n");
        print_wrapped_lines(text->str);
}

static void print_json(const Options *options, const char *currency, const Table *table) {
        JsonObject *object = json_object_new();
        g_autoptr(JsonNode) node = json_node_init_object(json_node_alloc(), object);

        json_object_set_string_member(object, "currency", currency);
        json_object_set_member(object, "ways", table_to_json(table));
        json_object_unref(object);
        json_print(node, options->json);
}

ExitStatus bill_ways_print(
                const Options *options, Connection *connection, const char *path, const char *called) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        g_autoptr(Table) table = table_new();
        g_autoptr(GString) lines = g_string_new(NULL);
        const char *currency;
        int r;

        r = connection_call(connection, path, BUS_INTERFACE_JOB, "GetBeside", &reply, "ss",
                        options->prices ? options->prices : "", options->fleet ? options->fleet : "");
        if (r < 0)
                return status_of_error(r);
        columns(table);
        r = sd_bus_message_read(reply, "s", &currency);
        if (r >= 0)
                r = read_ways(reply, table, lines);
        if (r < 0) {
                complain("the figures of --beside for %s cannot be read: %s", called, g_strerror(-r));
                return STATUS_FAILED;
        }
        pager_open(options);
        if (options->json != JSON_OFF)
                print_json(options, currency, table);
        else
                print_text(options, called, currency, table, lines);
        pager_close();
        return STATUS_OK;
}
