/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The distribution of a job: which processes act and learn, in this life of the job and in the next. */
#pragma once

#include "daemon/hold.h"
#include "daemon/job.h"

/* The distribution of the newest life. *ret_why: a clause to follow "since"; NULL: the settings name the
 * distribution. */
uint32_t job_distribution(const Job *job, uint32_t *ret_n_learners, const char **ret_why);
/* What the job may hold at once, by the distribution that it has or will have. */
QuotaNeed job_need(const Job *job);
/* The usage of all jobs of a user, but not of `except`, which may be NULL. The quota itself is in
 * daemon/users.h. */
QuotaUsage jobs_usage(const Jobs *jobs, uint32_t uid, const Job *except);
/* Whether the job still measures rounds, since there are too few so far for a choice. */
bool job_measures(const Job *job);
/* Chooses the distribution when enough rounds are measured, and writes it to the ledger. If a life runs, a
 * change is for the next one. */
void job_distribute(Job *job);
/* Whether the running life must end because another distribution was chosen for the next one. */
bool job_moves(const Job *job);
