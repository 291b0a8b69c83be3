/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What run mode does when the ledger cannot be written: the missing rows are kept in a directory of their
 * own, and taken in later. */
#pragma once

#include "daemon/manager.h"

/* Ends jobs that have not ended, and saves the rows that the ledger does not take. *ret: where, g_free();
 * NULL: the ledger took everything. */
int rest_keep(Manager *manager, char **ret);

/* `actord --recover`: takes in the rows that are kept for the ledger in this directory, or that this
 * directory keeps, and ends jobs whose daemon was killed. Prints what it did. */
int rest_recover(const char *directory);
