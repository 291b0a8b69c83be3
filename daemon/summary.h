/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The sums of all records of an ended job, as text: lines name=value. Whole numbers without a line are 0,
 * and real numbers without a line were not measured. The text stays in the ledger when the records are
 * removed. A later version reads the names that it knows. Pure. */
#pragma once

#include "daemon/progress.h"

/* g_free() */
char *summary_write(const Progress *progress);

/* Reads into a progress that progress_init() made. -EBADMSG: a line has another form, or a metric has no
 * name; a part may have been read then. */
int summary_read(const char *text, Progress *progress);
