/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prints times, counts and amounts of money for people. */
#include <math.h>
#include <stdio.h>

#include "actorctl/job-status.h"

char *format_duration(uint64_t nsec, char ret[32]) {
        uint64_t s = nsec / 1000000000;

        if (s >= 3600)
                snprintf(ret, 32, "%" G_GUINT64_FORMAT "h %umin", s / 3600, (unsigned) (s / 60 % 60));
        else if (s >= 60)
                snprintf(ret, 32, "%umin %us", (unsigned) (s / 60), (unsigned) (s % 60));
        else if (s >= 10)
                snprintf(ret, 32, "%.1f s", (double) nsec / 1e9);
        else
                snprintf(ret, 32, "%.3f s", (double) nsec / 1e9);
        return ret;
}

char *format_count(uint64_t n, char ret[32]) {
        char digits[24];
        size_t length = (size_t) snprintf(digits, sizeof(digits), "%" G_GUINT64_FORMAT, n), to = 0;

        for (size_t i = 0; i < length; i++) {
                if (i > 0 && (length - i) % 3 == 0)
                        ret[to++] = ',';
                ret[to++] = digits[i];
        }
        ret[to] = '\0';
        return ret;
}

char *format_money(double amount, const char *currency, char ret[48]) {
        int digits = amount >= 0.01 ? 4 : 6;

        if (amount >= 1)
                digits = 2;
        if (amount > 0 && amount < 1e-4)
                digits = 9;
        snprintf(ret, 48, "%.*f %s", digits, isfinite(amount) ? amount : 0.0, currency);
        return ret;
}
