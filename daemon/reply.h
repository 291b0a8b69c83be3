/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Replies that end with a list, and errors that several methods return. */
#pragma once

#include <systemd/sd-bus.h>
#include "daemon/ledger/ledger.h"

/* The most bytes of a reply. A bus closes the connection of a program that sends a longer message than its
 * max_message_size, 32 MiB on a system bus, and the daemon ends without its connection. */
#define REPLY_BYTES_MAX (24u << 20)

/* Makes a reply that is one list, and opens the list for its rows. */
int reply_list(sd_bus_message *m, const char *contents, sd_bus_message **ret);
/* Makes a reply that is a table of numbers: the names of its columns, then a list of rows, which is open. */
int reply_table(sd_bus_message *m, const char *const *names, size_t n_columns, sd_bus_message **ret);
/* Closes the list that a reply ends with, and sends the reply. 1, or negative. */
int reply_send(sd_bus_message *reply);

/* Sets *error for r, an errno that sheets_read() returned for the price sheet `name`. Returns a negative
 * errno. */
int reply_no_sheet(sd_bus_error *error, const char *name, int r);
/* Sets *error for r, an errno that sheets_list() returned. Returns a negative errno. */
int reply_no_sheets(sd_bus_error *error, int r);

/* Refuses a call that asks for records that were removed. 0: they exist. */
int reply_trimmed(const LedgerJob *row, sd_bus_error *error);
