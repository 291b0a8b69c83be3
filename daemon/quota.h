/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a user's jobs may have together, by actord.conf: [Daemon] for all, [Group NAME] and [User NAME]
 * for some. */
#pragma once

#include "daemon/manager.h"
#include "include/settings.h"

typedef struct Quota {
        uint32_t jobs;    /* not ended */
        uint32_t running; /* while others wait; 0: the derived share */
        uint32_t actors;  /* of running jobs; 0: no limit, as for memory */
        uint64_t memory_bytes;
        uint64_t disk_bytes; /* of all its jobs' files; 0: no limit */
} Quota;

typedef struct QuotaUsage {
        uint32_t jobs, running;
        uint64_t actors, memory_bytes; /* at most, of the running ones */
} QuotaUsage;

/* Of a user, as of the start of the daemon. */
Quota quota_of(Manager *manager, uint32_t uid);
QuotaUsage quota_usage(const Manager *manager, uint32_t uid);
void quota_add(QuotaUsage *usage, const JobSettings *settings);

/* Whether a job fits beside what runs. */
bool quota_has_room(const Quota *quota, const QuotaUsage *running, const JobSettings *settings);

/* Whether a user may submit this job: one that could never run is refused, as is one beyond the number of
 * jobs. Negative: error is set. */
int quota_check(Manager *manager, uint32_t uid, const JobSettings *settings, sd_bus_error *error);

/* Whether the files that come with a job have room beside those of the user's other jobs. 0 bytes:
 * whether there is any room. Negative: error is set. */
int quota_check_disk(Manager *manager, uint32_t uid, uint64_t bytes, sd_bus_error *error);
/* Pure: whether files of so many bytes have room beside others. */
bool quota_disk_has_room(uint64_t limit, uint64_t others, uint64_t bytes);

/* GetQuota() */
int method_get_quota(sd_bus_message *m, void *userdata, sd_bus_error *error);
