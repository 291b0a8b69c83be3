/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The limits that actord.conf sets for all jobs of a user together: [Daemon] for all users, [Group NAME] and
 * [User NAME] for some. */
#pragma once

#include "daemon/hold.h"
#include "daemon/manager.h"
#include "include/settings.h"

/* Whether a user may submit this job. trains: it is no evaluation or verification. currency: that of the
 * job's price sheet. A job is refused if it could never run, or if the user has too many jobs or no disk
 * space left. The quota must be known (quota_ask()). 0: the user may; negative: no, and error is set. */
int quota_check(Manager *manager, uint32_t uid, const JobSettings *settings, bool trains,
                const char *currency, sd_bus_error *error);

/* Whether there is room for the files that come with a job, beside those of the user's other jobs. bytes 0:
 * whether there is any room. Negative: error is set. */
int quota_check_disk(Manager *manager, uint32_t uid, uint64_t bytes, sd_bus_error *error);

/* For a call of `caller` that needs the quota of uid. 1: it is known; 0: `handler` is called again with the
 * message when it is known (the caller returns 1 now); negative: error is set. */
int quota_ask(Manager *manager, sd_bus_message *message, uint32_t caller, uint32_t uid,
                sd_bus_message_handler_t handler, sd_bus_error *error);
/* Whether this call has waited for a quota. If so, it was authorised before. */
bool quota_waits(const Manager *manager, sd_bus_message *message);

/* GetQuota() */
int method_get_quota(sd_bus_message *m, void *userdata, sd_bus_error *error);
