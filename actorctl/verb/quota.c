/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* quota: prints a user's usage and limits. */
#include <math.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "actorctl/bus.h"
#include "actorctl/view/table.h"
#include "include/bus.h"
#include "lib/cleanup.h"

static int find_user(const char *name, uint32_t *ret) {
        const struct passwd *entry = getpwnam(name);
        guint64 uid;

        if (entry) {
                *ret = entry->pw_uid;
                return 0;
        }
        if (g_ascii_string_to_unsigned(name, 10, 0, UINT32_MAX - 1, &uid, NULL)) {
                *ret = (uint32_t) uid;
                return 0;
        }
        complain("there is no user %s on this host", name);
        return -ENOENT;
}

/* "nUSD", billionths of a USD -> "USD". NULL: the unit is not money. */
static const char *currency_of(const char *unit) {
        return unit[0] == 'n' && unit[1] ? unit + 1 : NULL;
}

static void add_number(Table *table, uint64_t value, const char *unit) {
        if (currency_of(unit))
                table_real(table, (double) value / 1e9, "%.9f");
        else
                table_unsigned(table, value);
}

/* Money is printed with all digits, since little may be left before a limit. */
static char *amount_text(uint64_t value, const char *unit) {
        const char *currency = currency_of(unit);
        char digits[16];
        size_t n;

        if (!*unit)
                return g_strdup_printf("%" G_GUINT64_FORMAT, value);
        if (!currency)
                return g_format_size_full(value, G_FORMAT_SIZE_IEC_UNITS);
        g_snprintf(digits, sizeof(digits), "%09" G_GUINT64_FORMAT, value % 1000000000);
        for (n = strlen(digits); n > 2 && digits[n - 1] == '0'; n--)
                ;
        return g_strdup_printf(
                        "%" G_GUINT64_FORMAT ".%.*s %s", value / 1000000000, (int) n, digits, currency);
}

static void add_amount(Table *table, const Options *options, uint64_t value, const char *unit, bool limit) {
        g_autofree char *text = NULL;

        if (options->json != JSON_OFF && limit && value == 0)
                table_real(table, NAN, "%g");
        else if (options->json != JSON_OFF)
                add_number(table, value, unit);
        else {
                text = limit && value == 0 ? g_strdup("none") : amount_text(value, unit);
                table_string(table, text);
        }
}

static int read_quota(sd_bus_message *m, const Options *options, Table *table) {
        const char *name, *unit;
        uint64_t used, limit;
        int r;

        r = sd_bus_message_enter_container(m, 'a', "(sstt)");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_read(m, "(sstt)", &name, &unit, &used, &limit)) > 0) {
                table_string(table, name);
                add_amount(table, options, used, unit, false);
                add_amount(table, options, limit, unit, true);
                table_string(table, currency_of(unit) ?: unit);
        }
        return r;
}

ExitStatus verb_quota(const Options *options, char **arguments, size_t n) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        g_autoptr(Connection) connection = NULL;
        g_autoptr(Table) table = table_new();
        uint32_t uid = getuid();
        int r;

        if (n > 0 && find_user(arguments[0], &uid) < 0)
                return STATUS_USAGE;
        if (connection_open(options, &connection) < 0)
                return STATUS_FAILED;
        if (connection_call(connection, BUS_PATH, BUS_INTERFACE_MANAGER, "GetQuota", &reply, "u", uid) < 0)
                return STATUS_FAILED;
        table_column(table, "QUOTA", "quota", COLUMN_TEXT);
        table_column(table, "USED", "used", COLUMN_NUMBER);
        table_column(table, "LIMIT", "limit", COLUMN_NUMBER);
        table_column(table, "UNIT", "unit", COLUMN_JSON);
        r = read_quota(reply, options, table);
        if (r < 0) {
                complain("the quota cannot be read: %s", g_strerror(-r));
                return STATUS_FAILED;
        }
        table_print(table, options, NULL);
        return STATUS_OK;
}
