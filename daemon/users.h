/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The settings of actord.conf for a user. If there are sections for groups, the settings depend on the
 * user's groups. The host's user database may be on a network, and may not answer. So a separate process
 * asks the database, with a deadline, while the daemon goes on. Answers are kept. If there are
 * USERS_KEPT_MAX of them, all are forgotten. */
#pragma once

#include "daemon/hold.h"
#include "daemon/job-context.h"

/* How many processes may look up users' groups at once, and how many calls of one user may wait for them at
 * once (daemon/line.h). */
#define LOOKUPS_MAX         8u
#define LOOKUPS_USER_MAX    2u
#define LOOKUP_TIMEOUT_USEC (10ull * 1000 * 1000)
#define LOOKUP_RETRY_USEC   (10ull * 1000 * 1000) /* after a failed lookup */
#define USERS_KEPT_MAX      4096u

Users *users_new(JobContext *context);
Users *users_free(Users *users);

/* Whether the quota of a user is known. 1: it is; 0: not yet; negative: the host's user database failed. */
int users_known(Users *users, uint32_t uid, Quota *ret);
/* Finds the quota of a user. false: it is not known yet, or the last lookup failed. Then a lookup follows,
 * after a failure with a delay, and jobs_schedule() is called when another call may succeed. */
bool users_quota(Users *users, uint32_t uid, Quota *ret);
/* Whether the host's user database has given an answer since the last call. Then calls that wait for a
 * user's quota (quota_ask()) try again. */
bool users_take_news(Users *users);
