/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The sums of all records of an ended job, as text: lines name=value, without those that are zero. The text
 * stays in the ledger when the records are removed. A later version reads the names that it knows. Pure. */
#pragma once

#include "daemon/progress.h"

/* g_free() */
char *summary_write(const Progress *progress);

/* Reads into a progress that progress_init() made. -EBADMSG: a line has another form. */
int summary_read(const char *text, Progress *progress);
