/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* PriceSheet=./FILE: the daemon opens no path of a user, so this program sends the sheet's text with the
 * job. The daemon parses the text, and refuses it if the administrator sets the prices. */
#include "actorctl/job-file.h"

#include <string.h>

#include "actorctl/file.h"
#include "lib/sheets.h"

ExitStatus job_file_read_sheet(JobFile *job_file) {
        const char *name = job_file->settings.price_sheet, *reason = NULL;
        g_autofree char *path = NULL, *text = NULL, *sentence = NULL;
        size_t n = 0;
        int r;

        if (!strchr(name, '/'))
                return STATUS_OK;
        path = job_file_path(job_file, "Billing.PriceSheet", name);
        r = file_read(path, SHEET_BYTES_MAX, &text, &n);
        if (r < 0)
                reason = file_reason(r);
        else if (strlen(text) != n || !g_utf8_validate(text, (gssize) n, NULL))
                reason = "it is not UTF-8 text";
        if (!reason) {
                job_file->sheet = g_steal_pointer(&text);
                return STATUS_OK;
        }
        sentence = g_strdup_printf("the price sheet %s cannot be read: %s; `actorctl price list` has others",
                        path, reason);
        job_file_complain(job_file, "Billing", "PriceSheet", name, sentence);
        return STATUS_USAGE;
}
