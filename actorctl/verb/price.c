/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* price: lists and shows the price sheets that a job may name. */
#include <stdio.h>
#include <string.h>

#include "actorctl/bus.h"
#include "actorctl/view/pager.h"
#include "actorctl/view/table.h"
#include "include/bus.h"
#include "lib/cleanup.h"

static int read_sheets(sd_bus_message *m, Table *table) {
        const char *name, *date, *source, *currency, *description;
        int r;

        r = sd_bus_message_enter_container(m, 'a', "(sssss)");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_read(m, "(sssss)", &name, &date, &source, &currency, &description)) > 0) {
                table_string(table, name);
                table_string(table, currency);
                table_string(table, date);
                table_string(table, description);
                table_string(table, source);
        }
        return r;
}

static ExitStatus price_list(const Options *options, Connection *connection) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        g_autoptr(Table) table = table_new();

        if (connection_call(connection, BUS_PATH, BUS_INTERFACE_MANAGER, "ListPriceSheets", &reply, NULL) <
                        0)
                return STATUS_FAILED;
        table_column(table, "SHEET", "name", COLUMN_TEXT);
        table_column(table, "CURRENCY", "currency", COLUMN_TEXT);
        table_column(table, "DATE", "date", COLUMN_TEXT);
        table_column(table, "DESCRIPTION", "description", COLUMN_TEXT);
        table_column(table, "SOURCE", "source", COLUMN_JSON);
        if (read_sheets(reply, table) < 0) {
                complain("the list of price sheets cannot be read");
                return STATUS_FAILED;
        }
        table_page(table, options, "price sheet");
        return STATUS_OK;
}

static ExitStatus price_show(const Options *options, Connection *connection, const char *name) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const char *text;
        int r;

        r = connection_call(connection, BUS_PATH, BUS_INTERFACE_MANAGER, "GetPriceSheet", &reply, "s", name);
        if (r < 0)
                return status_of_error(r);
        if (sd_bus_message_read(reply, "s", &text) < 0) {
                complain("price sheet %s cannot be read", name);
                return STATUS_FAILED;
        }
        pager_open(options);
        if (options->json != JSON_OFF) {
                JsonObject *object = json_object_new();
                g_autoptr(JsonNode) node = json_node_init_object(json_node_alloc(), object);

                json_object_set_string_member(object, "name", name);
                json_object_set_string_member(object, "text", text);
                json_print(node, options->json);
                json_object_unref(object);
        } else
                fputs(text, stdout);
        pager_close();
        return STATUS_OK;
}

ExitStatus verb_price(const Options *options, char **arguments, size_t n) {
        bool list = n == 0 || (n == 1 && strcmp(arguments[0], "list") == 0);
        g_autoptr(Connection) connection = NULL;

        if (!list && (n != 2 || strcmp(arguments[0], "show") != 0)) {
                complain("price takes one of: list, show NAME");
                return STATUS_USAGE;
        }
        if (connection_open_any(options, &connection) < 0)
                return STATUS_FAILED;
        return list ? price_list(options, connection) : price_show(options, connection, arguments[1]);
}
