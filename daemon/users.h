/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The settings of actord.conf that hold for a user. With sections of groups they depend on the user's
 * groups, and the host's user database may lie on a network and not answer. So a process of its own asks
 * it, with a deadline, and the daemon goes on meanwhile; the answer is kept until the daemon ends. */
#pragma once

#include "daemon/hold.h"
#include "daemon/job-context.h"

/* Processes at once that ask for users' groups. */
#define LOOKUPS_MAX         8u
#define LOOKUPS_USER_MAX    2u
#define LOOKUP_TIMEOUT_USEC (10ull * 1000 * 1000)
#define LOOKUP_RETRY_USEC   (10ull * 1000 * 1000) /* after one that failed */
#define USERS_KEPT_MAX      4096u

Users *users_new(JobContext *context);
Users *users_free(Users *users);

/* 1: it is known; 0: not yet; negative: the host's user database did not say. */
int users_known(Users *users, uint32_t uid, Quota *ret);
/* false: it is not known yet. Then it is asked for, and jobs_schedule() follows when there is an
 * answer. */
bool users_quota(Users *users, uint32_t uid, Quota *ret);
/* Whether an answer came since the last time: calls that wait for one (quota_ask()) look again. */
bool users_take_news(Users *users);
