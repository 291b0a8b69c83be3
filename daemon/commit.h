/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Commits make records durable in groups, for all jobs at once. A commit that fails is repeated later
 * without another call. */
#pragma once

#include "daemon/job-context.h"

#define COMMIT_INTERVAL_USEC (100ull * 1000)
#define COMMIT_RETRY_USEC    (1000ull * 1000)

/* Makes all records durable, and tells the jobs so. Negative: the ledger is blocked. This is logged once,
 * and the daemon tries the commit again later. */
int commit_now(JobContext *context);
void commit_soon(JobContext *context);
/* Call this when a write to the ledger failed outside of commit_now(). Logs that the ledger is blocked,
 * once, and tries a commit later. */
void commit_failed(JobContext *context, int error);
