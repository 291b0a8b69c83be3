/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Nobody asks for a reply to a reply. */
#include "daemon/reply.h"

#include <assert.h>

int reply_rows(sd_bus_message *reply, int r) {
        assert(reply || r < 0);

        if (r >= 0)
                r = sd_bus_message_close_container(reply);
        if (r >= 0)
                r = sd_bus_send(NULL, reply, NULL);
        return r < 0 ? r : 1;
}
