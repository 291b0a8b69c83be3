/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* For tests of the daemon without a bus: its jobs and its ledger, which is in memory. */
#pragma once

#include "daemon/manager.h"
#include "tests/unit/ledger-fixture.h"

/* A job file without an error, and its description. */
#define MANAGER_JOB_TEXT "[Job]\nEnvironment=CartPole-v1\nDescription=a row\n"

Manager *manager_fixture(void);
void manager_unfixture(Manager *manager);

/* A row of user 1000 with the file MANAGER_JOB_TEXT and a sheet in EUR. The strings of the row are owned by
 * it. */
LedgerJob manager_row(const char *state, const char *result);
/* Adds the row to the ledger and frees it. Returns its number. */
uint64_t manager_add_row(Manager *manager, LedgerJob *row);
