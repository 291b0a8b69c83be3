/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Keeps the ledger's write-ahead file small: copies it into the ledger and cuts it when the daemon has
 * written nothing for a while and, beyond a limit, also while it writes. An open transaction of a reader
 * prevents that; then the log names the reader's process, if it is known. */
#pragma once

#include "daemon/manager.h"

#define FOLD_INTERVAL_USEC (5ull * 1000 * 1000)
#define FOLD_BYTES         (16ull << 20)
#define FOLD_SAY_USEC      (3600ull * 1000 * 1000)

void fold_start(Manager *manager);
void fold_done(Manager *manager);
