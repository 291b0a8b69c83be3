/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tries any bytes as a price sheet. They are refused with a sentence that names the file, or the sheet gives
 * the bill of a small job, whose total is the sum of its lines. */
#include <glib.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "daemon/bill/price.h"
#include "lib/settings/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_bill(const PriceSheet *sheet, const JobSettings *settings) {
        static Bill bill;
        Record record = { .kind = RECORD_ROLLOUT, .life = 1, .seq = 1 };
        Usage usage = {};
        double sum = 0;

        record.metered.cpu_nsec = record.metered.emulated_nsec = 1234567890;
        usage_add(&usage, sheet, settings, &record);
        bill_make(&usage, sheet, settings, &bill);
        g_assert_cmpuint(bill.n_lines, <=, BILL_LINES_MAX);
        for (size_t i = 0; i < bill.n_lines; i++)
                sum += bill.lines[i].amount;
        g_assert(isfinite(sum) && fabs(sum - bill.full) <= 1e-9 * (1 + fabs(sum)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        g_autofree char *text = g_strndup((const char *) data, size), *message = NULL, *wrong = NULL,
                        *reason = NULL;
        JobSettings settings;
        PriceSheet *sheet;

        if (price_sheet_parse(text, "FILE", &sheet, &message) < 0) {
                g_assert(message && strstr(message, "FILE") && g_utf8_validate(message, -1, NULL));
                return 0;
        }
        g_assert(price_sheet_name(sheet) && price_sheet_currency(sheet));
        if (settings_parse("[Job]\nEnvironment=CartPole-v1\n", "JOB", NULL, 0, NULL, &settings, &wrong) < 0)
                g_error("%s", wrong);
        if (price_sheet_check(sheet, &settings, &reason) == 0)
                check_bill(sheet, &settings);
        else
                g_assert(reason && g_utf8_validate(reason, -1, NULL));
        (void) price_sheet_free(sheet);
        return 0;
}
