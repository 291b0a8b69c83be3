/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "actorctl/experiment/numbers.h"

#include <math.h>

void add_number(GString *text, double value) {
        char digits[G_ASCII_DTOSTR_BUF_SIZE];

        if (!isfinite(value))
                return;
        (void) g_ascii_formatd(digits, sizeof(digits), "%.15g", value);
        if (g_ascii_strtod(digits, NULL) != value)
                (void) g_ascii_dtostr(digits, sizeof(digits), value);
        g_string_append(text, digits);
}

void add_short(GString *text, double value) {
        double size = fabs(value);

        if (!isfinite(value))
                g_string_append(text, "–");
        else if (size >= 1000)
                g_string_append_printf(text, "%.0f", value);
        else if (size >= 100)
                g_string_append_printf(text, "%.1f", value);
        else
                g_string_append_printf(text, size >= 1 ? "%.2f" : "%.4g", value);
}

void add_interval(GString *text, Interval interval) {
        if (isnan(interval.low)) {
                g_string_append(text, "–");
                return;
        }
        add_short(text, interval.low);
        g_string_append(text, " to ");
        add_short(text, interval.high);
}
