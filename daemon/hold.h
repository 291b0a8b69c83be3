/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decides whether a job may run under its user's quota now, or at any time, and says why not. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "include/settings.h"

typedef struct Quota {
        uint32_t jobs;    /* the most jobs that have not ended */
        uint32_t running; /* the most running jobs while other users wait; 0: an equal share */
        uint32_t actors;  /* actors and memory_bytes: the most for all running jobs; 0: no limit */
        uint64_t memory_bytes;
        uint64_t disk_bytes; /* of the files of all jobs of the user; 0: no limit */
        setting_money money; /* spending in a day; 0: no limit */
} Quota;

/* What a job may hold at once. */
typedef struct QuotaNeed {
        uint64_t actors, memory_bytes;
} QuotaNeed;

typedef struct QuotaUsage {
        uint32_t jobs, running;
        uint64_t actors, memory_bytes; /* the most that the running jobs may use */
} QuotaUsage;

typedef enum HoldReason {
        HOLD_NOTHING,
        HOLD_UNKNOWN, /* the quota is not known yet */
        HOLD_TURN,    /* an earlier job of the user waits for room, and later ones do not overtake it */
        HOLD_ACTORS,
        HOLD_MEMORY,
        HOLD_MONEY,
} HoldReason;

typedef struct Hold {
        HoldReason reason;
        /* beside: the most actors or bytes that the user's other jobs may use; for money, the billionths
         * that were spent today. limit: the quota. */
        uint64_t beside, limit;
        char currency[24];   /* for money */
        uint64_t until_usec; /* CLOCK_REALTIME */
} Hold;

/* n_learners: the learners of the job's distribution, which Policy=auto may choose. trains: the job is no
 * evaluation or verification. */
QuotaNeed quota_need(const JobSettings *settings, uint32_t n_learners, bool trains);
/* How many learners a job may have beside jobs with `others` bytes if it needs `need` with one learner. At
 * least 1. */
uint32_t quota_learners_max(
                const Quota *quota, uint64_t others, const QuotaNeed *need, const JobSettings *settings);
/* Adds a running job. */
void quota_add(QuotaUsage *usage, const QuotaNeed *need);
/* Whether a user's files may grow by `bytes` in addition to `others`. */
bool quota_disk_has_room(uint64_t limit, uint64_t others, uint64_t bytes);

/* Checks all quotas except money (daemon/spending.h). beside: the usage of the user's jobs that run, or are
 * queued before this one. */
Hold hold_of(const Quota *quota, const QuotaUsage *beside, const QuotaNeed *need);

/* Why the job can never run: a clause to follow "The job cannot run: ", without a full stop (g_free()).
 * NULL: it can run at some time. */
char *hold_never(const Quota *quota, const QuotaNeed *need, const JobSettings *settings,
                const char *currency);

/* A sentence for people; empty: the job is not held. */
void hold_words(const Hold *hold, const QuotaNeed *need, char *ret, size_t size);
