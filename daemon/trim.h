/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The ledger stays within KeepRecordsSec= and LedgerMax=: records, statistics and decisions of ended jobs
 * are removed; their rows, bills and totals stay. */
#pragma once

#include "daemon/manager.h"

/* Goes on where an earlier daemon was, and looks again now and then. */
void trim_start(Manager *manager);
/* A job has ended, so there may be something to do. */
void trim_soon(Manager *manager);
void trim_done(Manager *manager);
