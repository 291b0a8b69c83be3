/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Keeps the ledger within KeepRecordsSec= and LedgerMax=: removes records, statistics and decisions of ended
 * jobs. Their rows, bills and totals stay. */
#pragma once

#include "daemon/manager.h"

/* Continues removals that an earlier daemon began, and looks for old records from time to time. */
void trim_start(Manager *manager);
/* Call this when a job has ended, so that its records may have to be removed. */
void trim_soon(Manager *manager);
void trim_done(Manager *manager);
