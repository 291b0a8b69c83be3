/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Price sheets of tests. */
#pragma once

#include <glib.h>

#include "daemon/bill/price.h"

G_DEFINE_AUTOPTR_CLEANUP_FUNC(PriceSheet, price_sheet_free)

#define SHEET(rates)                                                      \
        "[Sheet]\nName=a\nDate=2026-11-01\nSource=a test\nCurrency=USD\n" \
        "Description=a sheet\n" rates

static inline PriceSheet *sheet_new(const char *text) {
        g_autofree char *message = NULL;
        PriceSheet *sheet = NULL;

        if (price_sheet_parse(text, "a.sheet", &sheet, &message) < 0)
                g_error("%s", message);
        return sheet;
}
