/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Nobody asks for a reply to a reply. */
#include "daemon/reply.h"

#include <assert.h>
#include <errno.h>
#include <glib.h>
#include "include/bus.h"

int reply_rows(sd_bus_message *reply, int r) {
        assert(reply || r < 0);

        if (r >= 0)
                r = sd_bus_message_close_container(reply);
        if (r >= 0)
                r = sd_bus_send(NULL, reply, NULL);
        return r < 0 ? r : 1;
}

int reply_no_sheet(sd_bus_error *error, const char *name, int r) {
        assert(r < 0);

        if (r == -ENOENT)
                return sd_bus_error_setf(error, BUS_ERROR(NoSuchPriceSheet),
                                "There is no price sheet `%s`; `actorctl price list` shows those there are.",
                                name);
        return sd_bus_error_setf(error, BUS_ERROR(BadPriceSheet), "Price sheet `%s` cannot be read: %s.",
                        name, g_strerror(-r));
}
