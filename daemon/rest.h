/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Run mode's way out when the ledger cannot be written: what it lacks is kept in a directory of its own,
 * and taken in later. */
#pragma once

#include "daemon/manager.h"

/* Ends what has not ended, and keeps what the ledger does not take. *ret: where, g_free(); NULL: the
 * ledger took everything. */
int rest_keep(Manager *manager, char **ret);

/* `actord --recover`: takes in what is kept for the ledger in this directory, or what this directory
 * keeps, and ends jobs whose daemon was killed. Says what it did on standard output. */
int rest_recover(const char *directory);
