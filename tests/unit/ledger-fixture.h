/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* For tests of the ledger: a check that a call succeeded, and the row of a running job. */
#pragma once

#include <glib.h>

#include "daemon/ledger/ledger.h"

void assert_ok(int r);

/* The row of a running job of user 1000 in its first life. All its texts are empty. */
LedgerJob ledger_row_running(void);
uint64_t ledger_add_running(Ledger *ledger);
