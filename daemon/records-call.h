/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls that need all records of a job. Those of an ended job are read from the ledger when they are first
 * needed: a few at once, and many as a long call, so that other callers are served in between. */
#pragma once

#include <systemd/sd-bus.h>
#include "daemon/job.h"

/* Loads the job's records. 1: they are loaded; 0: they are being read, and then the handler is called with
 * this message again; negative: error is set. */
int records_wanted(Job *job, sd_bus_message *m, sd_bus_message_handler_t handler, sd_bus_error *error);
