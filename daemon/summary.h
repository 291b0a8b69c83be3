/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The sums of all records of an ended job, as text: one name=value a line; zeros are left out. It stays
 * in the ledger when the records go. A later program reads the names that it knows. Pure. */
#pragma once

#include "daemon/progress.h"

/* g_free() */
char *summary_write(const Progress *progress);

/* Into a progress that progress_init() made. -EBADMSG: a line that is none. */
int summary_read(const char *text, Progress *progress);
