/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Limits the money that a user's jobs may cost in a day (MaxMoneyPerDayPerUser=). Their cost is written with
 * their records. A user who has reached the limit waits until the next day: queued jobs are held, and
 * running ones go back to the queue. Which day it is now is read from the wall clock each time, and is not
 * stored. So a restart, another time zone or a changed clock can only change which day it is. */
#pragma once

#include "daemon/hold.h"
#include "daemon/job.h"

/* A job that waits for its user's next day looks again after this time at the latest, since the wall clock
 * may have been set. */
#define SPENDING_LOOK_USEC (3600ull * 1000 * 1000)

/* The costs of users without a limit are noted only this often, since each note writes two pages of the
 * ledger. */
#define SPENDING_NOTE_USEC (5000ull * 1000)

/* Call this before a commit: it puts the costs so far of the jobs whose cost must be noted now into the same
 * transaction as their records. *ret_users are the users of those jobs; NULL: there are none. */
void spending_note(JobContext *context, GHashTable **ret_users);
/* Call this after the commit: running jobs of users who have reached their limit go back to the queue. */
void spending_look(JobContext *context, GHashTable *users);

/* The reason that holds all of a user's jobs if the limit is reached; otherwise HOLD_NOTHING. */
Hold spending_hold(JobContext *context, uint32_t uid, const Quota *quota);
/* Whether the cost of the last round must be known before another one may begin. */
bool spending_is_limited(JobContext *context, uint32_t uid);

/* Calls each() with the money spent today in each currency; each() returns 0 to go on. */
int spending_today(JobContext *context, uint32_t uid,
                int (*each)(const char *currency, uint64_t nano, void *userdata), void *userdata);
