/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* GetTotals: what ended jobs came to. */
#include "daemon/access.h"
#include "daemon/reply.h"
#include "lib/cleanup.h"

static int append_total(const LedgerTotal *t, void *userdata) {
        int r;

        r = sd_bus_message_append(userdata, "(ussssddttt)", t->uid, t->month, t->tag, t->currency,
                        t->sheet_name, (double) t->full_nano / 1e9, (double) t->paper_nano / 1e9, t->n_jobs,
                        t->n_env_steps, t->cpu_nsec);
        return r < 0 ? r : 0;
}

/* Everybody's are root's to see. */
int method_get_totals(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Manager *manager = userdata;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        uint32_t uid;
        int r;

        r = access_uid(manager, m, &uid, error);
        if (r < 0)
                return r;
        r = sd_bus_message_new_method_return(m, &reply);
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', "(ussssddttt)");
        if (r >= 0)
                r = ledger_totals_foreach(manager->ledger, uid == 0 ? UINT32_MAX : uid, append_total, reply);
        return reply_rows(reply, r);
}
