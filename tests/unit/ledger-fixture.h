/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tests of the ledger share: calls that must succeed, and the row of a job. */
#pragma once

#include <glib.h>

#include "daemon/ledger/ledger.h"

void assert_ok(int r);

/* The first life of a running job of user 1000, whose texts are empty. */
LedgerJob ledger_row_running(void);
uint64_t ledger_add_running(Ledger *ledger);
