/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Keeps the ledger's write-ahead file small: copies it into the ledger and cuts it when the daemon has
 * written nothing for a while. If the file exceeds a limit, this is done while the daemon writes, too. A
 * reader's open transaction keeps the file from being cut. Then the log names the reader's process, if that
 * is known. */
#pragma once

#include "daemon/manager.h"

#define FOLD_INTERVAL_USEC (5ull * 1000 * 1000)
#define FOLD_BYTES         (16ull << 20)
#define FOLD_SAY_USEC      (3600ull * 1000 * 1000)

void fold_start(Manager *manager);
void fold_done(Manager *manager);
