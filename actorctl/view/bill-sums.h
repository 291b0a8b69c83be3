/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The costs of many jobs as one bill, by owner, tag, month or job. */
#pragma once

#include "actorctl/actorctl.h"

typedef enum BillBy {
        BILL_BY_OWNER = 1 << 0,
        BILL_BY_TAG = 1 << 1,
        BILL_BY_MONTH = 1 << 2,
        BILL_BY_JOB = 1 << 3,
} BillBy;

/* Turns "owner,month" into bits. 0, with a message: it is wrong. */
unsigned bill_by_parse(const char *words);

/* Prints a row for each group and currency and, as text, a line with the sums. jobs: ListedJobs; this
 * function sorts them. A job that has not ended belongs to the month of now_usec. */
void bill_sums_print(GArray *jobs, unsigned by, uint64_t now_usec, const Options *options);
