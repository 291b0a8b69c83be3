/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* SubmitJob: a message becomes a queued job, or a sentence that says why not. Everything is checked before anything starts. */
#pragma once

#include "daemon/job.h"

/* from_fd: SubmitJobFile. On success the job is in the ledger and in the manager's list. */
int submit_job(Manager *manager, sd_bus_message *message, uint32_t uid, bool from_fd, Job **ret,
                sd_bus_error *error);
