/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* SubmitJob: turns a message into a queued job, or into a sentence that says why not. Everything is checked
 * before anything starts. */
#pragma once

#include "daemon/manager.h"

/* Accepts or refuses a job. from_fd: the method is SubmitJobFile. 1: the job is in the ledger and in the
 * manager's list; 0: its files are being copied, and the handler will be called again; negative: an error is
 * set. */
int submit_job(Manager *manager, sd_bus_message *message, uint32_t uid, bool from_fd,
                sd_bus_message_handler_t handler, Job **ret, sd_bus_error *error);
