/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/reply.h"

#include <assert.h>
#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include "include/bus.h"
#include "lib/cleanup.h"
#include "lib/limits.h"

int reply_list(sd_bus_message *m, const char *contents, sd_bus_message **ret) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int r;

        assert(contents);
        assert(ret);

        r = sd_bus_message_new_method_return(m, &reply);
        if (r < 0)
                return r;
        r = sd_bus_message_open_container(reply, 'a', contents);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(reply);
        return 0;
}

int reply_table(sd_bus_message *m, const char *const *names, size_t n_columns, sd_bus_message **ret) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int r;

        assert(names);
        assert(ret);

        r = reply_list(m, "s", &reply);
        if (r < 0)
                return r;
        for (size_t i = 0; i < n_columns; i++) {
                r = sd_bus_message_append(reply, "s", names[i]);
                if (r < 0)
                        return r;
        }
        r = sd_bus_message_close_container(reply);
        if (r < 0)
                return r;
        r = sd_bus_message_open_container(reply, 'a', "ad");
        if (r < 0)
                return r;
        *ret = TAKE_PTR(reply);
        return 0;
}

int reply_send(sd_bus_message *reply) {
        int r;

        assert(reply);

        r = sd_bus_message_close_container(reply);
        if (r < 0)
                return r;
        r = sd_bus_send(NULL, reply, NULL);
        return r < 0 ? r : 1;
}

int reply_no_sheet(sd_bus_error *error, const char *name, int r) {
        assert(r < 0);

        if (r == -ENOENT)
                return sd_bus_error_setf(error, BUS_ERROR(NoSuchPriceSheet),
                                "There is no price sheet `%s`; `actorctl price list` lists them.", name);
        return sd_bus_error_setf(error, BUS_ERROR(BadPriceSheet), "Price sheet `%s` cannot be read: %s%s.",
                        name, g_strerror(-r), limit_advice(r));
}

int reply_no_sheets(sd_bus_error *error, int r) {
        assert(r < 0);

        return sd_bus_error_setf(error, BUS_ERROR(BadPriceSheet), "The price sheets cannot be listed: %s%s.",
                        g_strerror(-r), limit_advice(r));
}

int reply_trimmed(const LedgerJob *row, sd_bus_error *error) {
        g_autoptr(GDateTime) when = NULL;
        g_autofree char *date = NULL;

        assert(row);

        if (row->trimmed_usec == 0)
                return 0;
        when = g_date_time_new_from_unix_local((gint64) (row->trimmed_usec / 1000000));
        date = when ? g_date_time_format(when, "%Y-%m-%d") : NULL;
        return sd_bus_error_setf(error, BUS_ERROR(RecordsRemoved),
                        "The records of job %" PRIu64
                        " were removed on %s (KeepRecordsSec= or LedgerMax= of actord.conf); its bill and "
                        "totals remain.",
                        row->id, date ? date : "an unknown date");
}
