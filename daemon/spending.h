/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Money a day (MaxMoneyPerDayPerUser=): what users' jobs cost is written down with their records, and a
 * user who has reached the limit waits until the next day: queued jobs are held, and running ones go back
 * to the queue. The day is what the wall clock says whenever it is asked; nothing is remembered of it, so
 * that a restart, another time zone or a clock that is set change nothing but the day. */
#pragma once

#include "daemon/hold.h"
#include "daemon/job.h"

/* A clock that was set is noticed after this time at the latest. */
#define SPENDING_LOOK_USEC (3600ull * 1000 * 1000)

/* Users without a limit are counted less often, since each time writes two pages. */
#define SPENDING_NOTE_USEC (5000ull * 1000)

/* Before a commit: what jobs have cost so far goes into the same transaction as their records. After it
 * *ret_users are the users of those jobs; NULL: there are none. */
void spending_note(JobContext *context, GHashTable **ret_users);
/* To be called after the commit: running jobs of users who have reached their limit go back to the queue. */
void spending_look(JobContext *context, GHashTable *users);

/* The reason that holds all of a user's jobs if the limit is reached; otherwise HOLD_NOTHING. */
Hold spending_hold(JobContext *context, uint32_t uid, const Quota *quota);
/* Whether no round may begin before the cost of the last one is known. */
bool spending_is_limited(JobContext *context, uint32_t uid);

/* Calls each() with the money spent today in each currency; each() returns 0 to go on. */
int spending_today(JobContext *context, uint32_t uid,
                int (*each)(const char *currency, uint64_t nano, void *userdata), void *userdata);
