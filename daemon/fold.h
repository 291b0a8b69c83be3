/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The ledger's write-ahead file stays small: it is cut when the daemon has written nothing for a while,
 * and beyond a limit also while it writes. What keeps it from that, a reader's open transaction, is said
 * with what is known of the reader. */
#pragma once

#include "daemon/manager.h"

#define FOLD_INTERVAL_USEC (5ull * 1000 * 1000)
#define FOLD_BYTES         (16ull << 20)
#define FOLD_SAY_USEC      (3600ull * 1000 * 1000)

void fold_start(Manager *manager);
void fold_done(Manager *manager);
