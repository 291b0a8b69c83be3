/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What all records of an ended job came to, as text: one name=value a line, what is zero left out. It stands in the job's row. Pure. */
#pragma once

#include "daemon/progress.h"

/* g_free() */
char *summary_write(const Progress *progress);
