/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "actorctl/view/age.h"

#include <glib.h>
#include <stdio.h>

char *format_age(uint64_t usec, uint64_t now_usec, char ret[24]) {
        static const struct {
                const char *unit;
                uint64_t sec, below; /* in seconds */
        } rows[] = { { "s", 1, 120 }, { "min", 60, 7200 }, { "h", 3600, 172800 },
                { "d", 86400, UINT64_MAX } };
        uint64_t sec = (now_usec - usec) / 1000000;

        ret[0] = '\0';
        if (usec == 0 || usec > now_usec)
                return ret;
        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
                if (sec < rows[i].below) {
                        (void) snprintf(ret, 24, "%" G_GUINT64_FORMAT " %s", sec / rows[i].sec,
                                        rows[i].unit);
                        break;
                }
        return ret;
}

void table_age(Table *table, uint64_t usec, uint64_t now_usec) {
        char age[24];

        table_shown(table, format_age(usec, now_usec, age),
                        usec > 0 ? json_unsigned((now_usec - MIN(usec, now_usec)) / 1000000) : json_usec(0));
}

void table_time(Table *table, uint64_t usec) {
        table_shown(table, "", json_usec(usec));
}
