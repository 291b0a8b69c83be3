/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* When the ledger cannot be written, run mode keeps the missing rows in a separate directory, and adds them
 * to the ledger later. */
#pragma once

#include "daemon/manager.h"

/* Ends jobs that have not ended, and saves the rows that the ledger does not take. 0, with the directory of
 * the saved rows in *ret, g_free(), or NULL if the ledger took everything, or if the state directory is
 * temporary, so that its rows are not needed; or a negative errno. */
int rest_keep(Manager *manager, char **ret);

/* `actord --recover`: adds rows to a ledger, and ends jobs whose daemon was killed. The directory has the
 * ledger, or it is the separate directory of rest_keep() for a ledger elsewhere. Prints what it did, or why
 * it failed: -EPERM: another user's directory; -EBUSY: the run still goes on; another negative errno. */
int rest_recover(const char *directory);
