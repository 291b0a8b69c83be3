/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Replies that end with a list, and a refusal that several methods have. */
#pragma once

#include <systemd/sd-bus.h>
#include "daemon/ledger/ledger.h"

/* What a method ends with: r is how filling the reply went, its list still open. Sends it unless r is
 * negative. 1, or negative. */
int reply_rows(sd_bus_message *reply, int r);

/* What sheets_read() of this name returned, as an error for the bus. Negative. */
int reply_no_sheet(sd_bus_error *error, const char *name, int r);
/* The same of sheets_list(). */
int reply_no_sheets(sd_bus_error *error, int r);

/* A call that asks for a job's records is refused in words once they are removed. 0: they are there. */
int reply_trimmed(const LedgerJob *row, sd_bus_error *error);
